// Loads the package by `require`. It does what `try.ts` of the README does.
const { FunctionTool, InMemoryRunner, LlmAgent, stringifyContent } = require('agentmesh');
const { latestFunctionResponses, startScriptedGemini } = require('agentmesh/testing');
const { connectMesh } = require('agentmesh/mesh');
const { z } = require('zod');

async function main() {
  if (typeof connectMesh !== 'function') throw new Error('agentmesh/mesh has no connectMesh');
  const model = await startScriptedGemini({
    script(request) {
      const [result] = latestFunctionResponses(request);
      if (result) return { text: `It is ${result.response.time} in Oslo.` };
      return { calls: [{ name: 'get_time', args: { city: 'Oslo' } }] };
    },
  });
  process.env.GOOGLE_GEMINI_BASE_URL = model.url;
  process.env.GEMINI_API_KEY = 'scripted';
  const clock = new FunctionTool({
    name: 'get_time',
    description: 'Tells the time in a city.',
    parameters: z.object({ city: z.string() }),
    execute: ({ city }) => ({ city, time: '10:30' }),
  });
  const agent = new LlmAgent({ name: 'timekeeper', model: 'gemini-2.5-flash', tools: [clock] });
  const runner = new InMemoryRunner({ agent, appName: 'time_app' });
  const newMessage = { role: 'user', parts: [{ text: 'What is the time in Oslo?' }] };
  for await (const event of runner.runEphemeral({ userId: 'ann', newMessage })) {
    const text = stringifyContent(event);
    if (text) console.log(text);
  }
  await model.close();
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});

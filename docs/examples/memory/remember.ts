import {
  InMemoryRunner,
  LlmAgent,
  loadMemoryTool,
  preloadMemoryTool,
  stringifyContent,
} from '@agentmesh/agent';

const host = new LlmAgent({
  name: 'host',
  model: 'gemini-2.5-flash',
  // The first tool adds memories about the user's message to the instruction. The second lets the model
  // search itself.
  tools: [preloadMemoryTool, loadMemoryTool],
  // Sessions are not added by themselves. When a session was added before, only its new events are read.
  afterAgentCallback: async (context) => {
    await context.addSessionToMemory();
    return undefined;
  },
});
const runner = new InMemoryRunner({ agent: host, appName: 'examples' });

async function say(text: string, sessionId: string) {
  const session = { userId: 'ann', sessionId };
  const known = await runner.sessionService.getSession({ appName: 'examples', ...session });
  if (!known) await runner.sessionService.createSession({ appName: 'examples', ...session });
  const newMessage = { role: 'user', parts: [{ text }] };
  for await (const event of runner.runAsync({ ...session, newMessage })) {
    if (event.errorMessage) console.error(event.errorMessage);
    if (stringifyContent(event)) console.log(`${event.author}: ${stringifyContent(event)}`);
  }
}

await say('我喜欢绿茶', 'monday');
await say('My dog is called Rex.', 'monday');
await say('绿茶?', 'tuesday');

const found = await runner.memoryService?.searchMemory({ appName: 'examples', userId: 'ann', query: 'DOG' });
for (const { author, content, sessionId } of found?.memories ?? [])
  console.log(`${sessionId}, ${author}: ${content.parts?.[0]?.text}`);

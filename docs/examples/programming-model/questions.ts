import { FunctionTool, getFunctionCalls, LlmAgent, requestInputTool } from '@agentmesh/agent';
import { z } from 'zod';
import { chat, runnerOf } from './chat.ts';

// This tool asks for the destination in a form. It is called again with the person's input, which matches the
// schema.
const book = new FunctionTool({
  name: 'book',
  description: 'Books a trip.',
  parameters: z.object({ people: z.number() }),
  execute: ({ people }, context) => {
    const trip = context?.inputResponse;
    if (trip) return { booked: trip, people, asked: context?.state.get('temp:asked') };
    context?.state.set('temp:asked', 'politely');
    return context?.requestInput({
      message: 'Where to, and for how long?',
      responseSchema: z.object({ city: z.string(), nights: z.number().int().min(1) }),
    });
  },
});

// With request_input the model asks the user itself.
const rootAgent = new LlmAgent({
  name: 'agency',
  model: 'gemini-2.5-flash',
  tools: [book, requestInputTool],
});
const conversation = await chat(runnerOf(rootAgent, { resumabilityConfig: { isResumable: true } }));

const asked = await conversation.say('Book a trip for two.');
const { id = '', name = '' } = asked.flatMap(getFunctionCalls).at(-1) ?? {};
try {
  await conversation.answer({ id, name, response: { city: 'Rome', nights: 0 } });
} catch (error) {
  console.log(String(error).replace(/adk-\S+/, 'adk-…'));
}
// Passing the id of the invocation that asked continues that invocation and keeps its `temp:` state.
const invocationId = asked[0]?.invocationId ?? '';
await conversation.answer({ id, name, response: { city: 'Rome', nights: 2 } }, { invocationId });

const question = (await conversation.say('Send a card.')).flatMap(getFunctionCalls).at(-1);
const response = { result: 'Greetings!' };
await conversation.answer({ id: question?.id ?? '', name: 'adk_request_input', response });

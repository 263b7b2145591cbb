import { type Event, FunctionTool, getFunctionCalls, LlmAgent } from '@agentmesh/agent';
import { z } from 'zod';
import { chat, runnerOf } from './chat.ts';

// A person must confirm the call: always (`true`), or for some arguments, as here.
const reimburse = new FunctionTool({
  name: 'reimburse',
  description: 'Pays money back.',
  parameters: z.object({ amount: z.number() }),
  requireConfirmation: ({ amount }) => amount > 100,
  execute: ({ amount }) => ({ paid: amount }),
});

// This tool asks by itself, with a form for the person. It is called again with the answer.
const timeOff = new FunctionTool({
  name: 'time_off',
  description: 'Asks for days off.',
  parameters: z.object({ days: z.number() }),
  execute: ({ days }, context) => {
    const answer = context?.toolConfirmation;
    if (!answer) {
      context?.requestConfirmation({ hint: `${days} days off?`, payload: { approved_days: 0 } });
      return { status: 'waiting' };
    }
    return answer.confirmed ? { granted: answer.payload } : { refused: true };
  },
});

const agent = new LlmAgent({ name: 'office', model: 'gemini-2.5-flash', tools: [reimburse, timeOff] });
const conversation = await chat(runnerOf(agent));

/** Finds the question, which is a call with its own id. The answer names this id. */
function questionIn(events: Event[]) {
  const question = events.flatMap(getFunctionCalls).find(({ name }) => name === 'adk_request_confirmation');
  return { id: question?.id ?? '', name: 'adk_request_confirmation' };
}

await conversation.say('Pay me 50.');
const large = questionIn(await conversation.say('Pay me 500.'));
await conversation.say('What time is it?'); // The question stays open.
await conversation.answer({ ...large, response: { confirmed: true } });
const days = questionIn(await conversation.say('I want five days off.'));
await conversation.answer({ ...days, response: { confirmed: true, payload: { approved_days: 3 } } });

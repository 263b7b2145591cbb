// An agent in one process: no NATS, no Redis. Run it with Node 24: node_modules/.bin/node
// docs/examples/one-process.ts
import {
  BaseLlm,
  FunctionTool,
  InMemoryRunner,
  LlmAgent,
  type LlmRequest,
  stringifyContent,
} from '@agentmesh/agent';
import { z } from 'zod';

/** A model that needs no key. With a key, write `model: 'gemini-2.5-flash'` below instead. */
class TinyModel extends BaseLlm {
  override async *generateContentAsync({ contents }: LlmRequest) {
    const result = contents.at(-1)?.parts?.[0]?.functionResponse?.response;
    const part = result
      ? { text: `The dice say ${result.eyes}.` }
      : { functionCall: { name: 'roll', args: { sides: 1 } } };
    yield { content: { role: 'model', parts: [part] } };
  }
}

const roll = new FunctionTool({
  name: 'roll',
  description: 'Rolls a die.',
  parameters: z.object({ sides: z.number().int().min(1) }),
  execute: ({ sides }) => ({ eyes: 1 + Math.floor(Math.random() * sides) }),
});

const agent = new LlmAgent({ name: 'dice_agent', model: new TinyModel({ model: 'tiny' }), tools: [roll] });
const runner = new InMemoryRunner({ agent, appName: 'dice_app' });
const session = await runner.sessionService.createSession({ appName: 'dice_app', userId: 'ann' });
const newMessage = { role: 'user', parts: [{ text: 'Roll!' }] };
for await (const event of runner.runAsync({ userId: 'ann', sessionId: session.id, newMessage })) {
  const text = stringifyContent(event);
  if (text) console.log(`${event.author}: ${text}`);
}

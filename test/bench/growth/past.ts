import { createEvent } from '@agentmesh/agent';
import type { Event } from '@agentmesh/protocol';
import { price, question } from '../model.ts';

/** Returns an event of the past. A past turn has four events: a question, a call, its result, an answer. */
export function pastEvent(n: number, author: string): Event {
  const turn = Math.floor(n / 4);
  const id = `adk-${String(turn).padStart(36, '0')}`;
  const invocationId = `e-${String(turn).padStart(36, '0')}`;
  const name = 'get_stock_price';
  const contents = [
    question,
    { role: 'model', parts: [{ functionCall: { id, name, args: { ticker: 'GOOG' } } }] },
    { role: 'user', parts: [{ functionResponse: { id, name, response: price } }] },
    {
      role: 'model',
      parts: [{ text: `GOOG stands at $182.4. That was answer number ${turn}, ${'and so on '.repeat(12)}` }],
    },
  ];
  const content = contents[n % 4] ?? question;
  return createEvent({ invocationId, author: n % 4 === 0 ? 'user' : author, content });
}

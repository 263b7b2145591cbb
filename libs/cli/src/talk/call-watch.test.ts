import { createEvent } from '@agentmesh/agent';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { CallWatch } from './call-watch.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const eventOf = (part: object) =>
  createEvent({ invocationId: 'e-1', author: 'payer', content: { role: 'model', parts: [part] } });

it('tells what a run waits for and for how long, less and less often, until the response comes', () => {
  const lines: string[] = [];
  using watch = new CallWatch((line) => lines.push(line));
  vi.advanceTimersByTime(5_000);
  expect(lines.splice(0)).toEqual(['… waits for an answer: 5 s']);
  watch.note(eventOf({ functionCall: { id: 'c1', name: 'pay', args: { amount: 3 } } }));
  watch.note(eventOf({ functionCall: { id: 'q1', name: 'adk_request_confirmation', args: {} } }));
  vi.advanceTimersByTime(4_999);
  expect(lines).toEqual([]);
  vi.advanceTimersByTime(60_000);
  expect(lines.splice(0)).toEqual([5, 15, 35].map((s) => `… waits for pay({"amount":3}) of payer: ${s} s`));
  watch.note(eventOf({ functionResponse: { id: 'c1', name: 'pay', response: {} } }));
  vi.advanceTimersByTime(5_000);
  expect(lines.splice(0)).toEqual(['… waits for an answer: 5 s']);
  watch[Symbol.dispose]();
  vi.advanceTimersByTime(60_000);
  expect(lines).toEqual([]);
});

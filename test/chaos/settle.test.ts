import { expect, it } from 'vitest';
import type { StreamRest } from './check/history.ts';
import type { Queues } from './queues.ts';
import { settle } from './settle.ts';

const empty: StreamRest = { name: 'RUNS', messages: 0, ackPending: 0 };

/** Settles with a stream that stays as it is. */
async function settled(stream: Partial<StreamRest>, running: string[] = []) {
  const queues: Queues = {
    states: async () => [{ ...empty, ...stream }],
    deadLetters: async () => [],
    objects: async () => [],
    removeLostPayloads: async () => 0,
    async [Symbol.asyncDispose]() {},
  };
  return await settle({ queues, running: async () => running, timeoutMs: 300 });
}

it('is settled when all queues are empty and nothing runs', async () => {
  expect(await settled({})).toEqual({ streams: [empty], unsettled: [] });
});

it.each<[string, Partial<StreamRest>, string[], string]>([
  ['a run that has not ended', {}, ['e-1'], 'e-1 is running'],
  ['a message', { messages: 1 }, [], 'RUNS: 1 messages waiting, 0 deliveries not acknowledged'],
  ['a delivery', { ackPending: 2 }, [], 'RUNS: 0 messages waiting, 2 deliveries not acknowledged'],
])('reports %s', async (_what, stream, running, what) => {
  expect((await settled(stream, running)).unsettled).toEqual([what]);
});

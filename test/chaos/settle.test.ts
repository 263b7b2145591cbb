import { expect, it } from 'vitest';
import type { StreamRest } from './check/history.ts';
import type { Queues } from './queues.ts';
import { settle } from './settle.ts';

const empty: StreamRest = { name: 'RUNS', messages: 0, ackPending: 0, ghosts: 0 };

/** Settles with a stream that stays as it is. */
async function settled(stream: Partial<StreamRest>, keepsGhosts: boolean, running: string[] = []) {
  const queues: Queues = {
    states: async () => [{ ...empty, ...stream }],
    deadLetters: async () => [],
    objects: async () => [],
    removeLostPayloads: async () => 0,
    keepsGhosts,
    async [Symbol.asyncDispose]() {},
  };
  return await settle({ queues, running: async () => running, timeoutMs: 300 });
}

it('is settled when all queues are empty and nothing runs', async () => {
  expect(await settled({}, false)).toEqual({ streams: [empty], unsettled: [] });
});

it.each<[string, Partial<StreamRest>, boolean, string[], string]>([
  ['a run that has not ended', {}, false, ['e-1'], 'e-1 is running'],
  ['a message', { messages: 1 }, true, [], 'RUNS: 1 messages waiting, 0 deliveries not acknowledged'],
  ['a delivery', { ackPending: 2 }, true, [], 'RUNS: 0 messages waiting, 2 deliveries not acknowledged'],
  [
    'what a server keeps',
    { ghosts: 3 },
    false,
    [],
    'RUNS: 3 messages waiting, 0 deliveries not acknowledged',
  ],
])('reports %s', async (_what, stream, keepsGhosts, running, what) => {
  expect((await settled(stream, keepsGhosts, running)).unsettled).toEqual([what]);
});

it('only counts what a forgetful server keeps', async () => {
  expect(await settled({ ghosts: 3 }, true)).toEqual({ streams: [{ ...empty, ghosts: 3 }], unsettled: [] });
});

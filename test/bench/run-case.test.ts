import { MeshError } from '@agentmesh/protocol';
import { expect, it } from 'vitest';
import { runCase } from './run-case.ts';

/** Makes a case whose repetitions end one after the other as given. */
const caseOf = (...ends: (() => Promise<void>)[]) => {
  const all = ends.values();
  return { count: ends.length, inFlight: 2, once: async () => await all.next().value?.() };
};
const answered = async () => {};
const timeout = Object.assign(new Error('timeout'), { name: 'TimeoutError' });

it.each<[string, () => Promise<void>]>([
  ['a time-out of the client', () => Promise.reject(timeout)],
  ['a time-out within another error', () => Promise.reject(new Error('request failed', { cause: timeout }))],
  ['a server that does not answer', () => Promise.reject(new MeshError('unavailable', 'm'))],
  ['a repetition without an end', () => Promise.withResolvers<void>().promise],
])('a lost reply is counted, and the case goes on: %s', async (_, end) => {
  const { times, lost } = await runCase(caseOf(answered, end, answered, answered), 20);
  expect({ answered: times.length, lost }).toEqual({ answered: 3, lost: 1 });
});

it('a wrong answer ends the case', async () => {
  const wrong = new Error('an ask was answered by something else');
  await expect(runCase(caseOf(answered, () => Promise.reject(wrong)))).rejects.toBe(wrong);
  const refused = new MeshError('permission_denied', 'm');
  await expect(runCase(caseOf(answered, () => Promise.reject(refused)))).rejects.toBe(refused);
});

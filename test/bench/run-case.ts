import { MeshError } from '@agentmesh/protocol';
import type { Case } from './cases.ts';

/** The time after which the reply of a repetition counts as lost, in ms. */
const longestMs = 15_000;

class LostReply extends Error {
  override readonly name = 'TimeoutError';
}

/**
 * Repeats a case as often as it says. Returns the rate, the time of each answered repetition in ms, and the number of
 * repetitions whose reply was lost, which neither end the case nor count for its rate.
 *
 * @throws any other error of a repetition, as for a wrong answer
 */
export async function runCase(
  { once, count, inFlight }: Pick<Case, 'once' | 'count' | 'inFlight'>,
  limitMs = longestMs,
): Promise<{ perSecond: number; times: number[]; lost: number }> {
  const times: number[] = [];
  let started = 0;
  let lost = 0;
  const begin = performance.now();
  const worker = async () => {
    while (started < count) {
      started += 1;
      const at = performance.now();
      try {
        const time = await within(once(), limitMs);
        times.push(time ?? performance.now() - at);
      } catch (error) {
        if (!isLostReply(error)) throw error;
        lost += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return { perSecond: (times.length / (performance.now() - begin)) * 1_000, times, lost };
}

async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new LostReply(`no reply within ${ms} ms`)), ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Tells whether an error means that no reply came in time; nats.js and our own libraries wrap it. */
function isLostReply(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof MeshError && ['deadline_exceeded', 'unavailable'].includes(error.code)) return true;
  return error.name === 'TimeoutError' || isLostReply(error.cause);
}

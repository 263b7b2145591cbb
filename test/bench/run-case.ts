import type { Case } from './cases.ts';

/** Repeats a case as often as it says. Returns the rate, and the time of each repetition in ms. */
export async function runCase({
  once,
  count,
  inFlight,
}: Case): Promise<{ perSecond: number; times: number[] }> {
  const times: number[] = [];
  let started = 0;
  const begin = performance.now();
  const worker = async () => {
    while (started < count) {
      started += 1;
      const at = performance.now();
      const time = await once();
      times.push(time ?? performance.now() - at);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return { perSecond: (count / (performance.now() - begin)) * 1_000, times };
}

import { expect, it } from 'vitest';
import { runPrograms } from './random-code.fixture.ts';

const count = Number(process.env.RANDOM_PROGRAMS ?? 100_000);

it(`${count} random programs end, and lose no call`, async () => {
  const start = performance.now();
  const { findings, most } = await runPrograms(1_000, count);
  expect(findings).toEqual([]);
  const perSecond = Math.round(count / ((performance.now() - start) / 1_000));
  console.log(`${perSecond} programs a second; at most ${most} model calls in one`);
}, 3_600_000);

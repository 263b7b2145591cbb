import { expect, it } from 'vitest';
import { fuzz } from './fuzzed-answers.fixture.ts';
import { modelKinds } from './rude-models.fixture.ts';

/** The number of random answers to each class of models. */
const count = Number(process.env.FUZZ_ANSWERS ?? 50_000);

it.each(modelKinds)(
  `$name keeps the rules with ${count} random answers`,
  async (kind) => {
    const start = performance.now();
    expect(await fuzz(kind, 1_000, count)).toEqual([]);
    console.log(
      `${kind.name}: ${Math.round(count / ((performance.now() - start) / 1_000))} answers a second`,
    );
  },
  3_600_000,
);

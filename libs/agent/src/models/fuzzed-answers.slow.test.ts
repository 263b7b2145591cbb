import { expect, it } from 'vitest';
import { fuzz } from './fuzzed-answers.fixture.ts';
import { modelKinds } from './rude-models.fixture.ts';

it.each(modelKinds)('$name keeps the rules with 50 random answers', async (kind) => {
  expect(await fuzz(kind, 1, 50)).toEqual([]);
});

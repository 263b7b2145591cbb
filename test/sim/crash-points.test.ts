import { describe, it } from 'vitest';
import { expectEveryCrashPoint, longestScenarios, longScenarios } from './report.fixture.ts';
import { scenarios } from './scenarios/scenarios.ts';

describe('every process may die before and after every operation of', () => {
  it.each([...scenarios.keys()].filter((name) => ![...longScenarios, ...longestScenarios].includes(name)))(
    '%s',
    expectEveryCrashPoint,
  );
});

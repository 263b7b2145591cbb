import { describe, it } from 'vitest';
import { expectEveryCrashPoint, longestScenarios } from './report.fixture.ts';

describe('every process may die before and after every operation of', () => {
  it.each(longestScenarios)('%s', expectEveryCrashPoint);
});

import { describe, it } from 'vitest';
import { expectEveryCrashPoint, longScenarios } from './report.fixture.ts';

describe('every process may die before and after every operation of', () => {
  it.each(longScenarios)('%s', expectEveryCrashPoint);
});

import { it } from 'vitest';
import { expectEveryCrashPoint, longestScenarios } from './run-simulation.fixture.ts';

it(
  'keeps its promises when a process dies at any operation of the longest scenarios',
  () => expectEveryCrashPoint(longestScenarios),
  600_000,
);

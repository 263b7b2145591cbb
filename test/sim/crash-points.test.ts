import { it } from 'vitest';
import {
  costlyScenarios,
  expectEveryCrashPoint,
  longestScenarios,
  longScenarios,
} from './run-simulation.fixture.ts';
import { scenarios } from './scenarios/scenarios.ts';

it('keeps its promises when a process dies at any operation of a short scenario', async () => {
  const long = [...longScenarios, ...costlyScenarios, ...longestScenarios];
  await expectEveryCrashPoint([...scenarios.keys()].filter((name) => !long.includes(name)));
});

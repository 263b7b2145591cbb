import { it } from 'vitest';
import {
  expectEveryCrashPoint,
  httpScenarios,
  longestScenarios,
  longScenarios,
} from './run-simulation.fixture.ts';
import { scenarios } from './scenarios/scenarios.ts';

it('keeps its promises when a process dies at any operation of a short scenario', async () => {
  const long = [...longScenarios, ...httpScenarios, ...longestScenarios];
  await expectEveryCrashPoint([...scenarios.keys()].filter((name) => !long.includes(name)));
});

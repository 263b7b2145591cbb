import { it } from 'vitest';
import { costlyScenarios, expectEveryCrashPoint } from './run-simulation.fixture.ts';

it('keeps its promises when a process dies at any operation beside a gateway of HTTP or a canary', () =>
  expectEveryCrashPoint(costlyScenarios));

import { it } from 'vitest';
import { expectEveryCrashPoint, httpScenarios } from './run-simulation.fixture.ts';

it('keeps its promises when a process dies at any operation beside gateways of HTTP', () =>
  expectEveryCrashPoint(httpScenarios));

import { it } from 'vitest';
import { expectEveryCrashPoint, longScenarios } from './run-simulation.fixture.ts';

it('keeps its promises when a process dies at any operation of a long scenario', () =>
  expectEveryCrashPoint(longScenarios));

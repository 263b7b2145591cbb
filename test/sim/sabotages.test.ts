import { it } from 'vitest';
import { sabotages } from './faults/sabotages.ts';
import { expectSabotagesFound, slowlyFound } from './run-simulation.fixture.ts';

it('finds code that is broken on purpose', () =>
  expectSabotagesFound(sabotages.filter((name) => !slowlyFound.includes(name))));

import { it } from 'vitest';
import { sabotages } from './faults/sabotages.ts';
import { expectSabotagesFound } from './run-simulation.fixture.ts';

it('finds code that is broken on purpose, in each way', () => expectSabotagesFound(sabotages), 600_000);

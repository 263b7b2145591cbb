import { it } from 'vitest';
import { expectEveryPoint } from './run-simulation.fixture.ts';
import { scenarios } from './scenarios/scenarios.ts';

it(
  'keeps its promises when Redis fails over at any operation, and writes wait for its replica',
  () => expectEveryPoint([...scenarios.keys()], '--failover'),
  600_000,
);

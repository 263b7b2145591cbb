import { it } from 'vitest';
import { expectEveryPoint } from './run-simulation.fixture.ts';
import { scenarios } from './scenarios/scenarios.ts';

it(
  'keeps its promises when a process dies before or after any operation of any scenario',
  () => expectEveryPoint([...scenarios.keys()], '--crash'),
  900_000,
);

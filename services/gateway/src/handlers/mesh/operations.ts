import { z } from 'zod';
import type { Operation } from '../../context/operation.ts';
import { deadLetterAnswer, deadLettersAnswer, deadLettersQuery, replayAnswer } from './dead-letters.ts';
import { meshInvocationAnswer, meshInvocationQuery } from './invocation.ts';
import { mapAnswer } from './map.ts';
import { meshPendingAnswer, meshPendingQuery } from './pending.ts';
import { runsAnswer, runsQuery } from './runs.ts';

const letter = '/mesh/dead-letters/:seq';

/** The requests and the answers of the routes about the whole mesh. */
export const meshOperations: Readonly<Record<string, Operation>> = {
  'GET /mesh': {
    summary: 'agents and tools with their replicas and queues, and who calls whom',
    answer: mapAnswer,
  },
  'GET /mesh/runs': {
    summary: 'runs of all users, newest first: the newest 1,000 of each app',
    query: runsQuery,
    answer: runsAnswer,
  },
  'GET /mesh/invocations/:invocation': {
    summary: 'an invocation of any user as a waterfall',
    query: meshInvocationQuery,
    answer: meshInvocationAnswer,
  },
  'GET /mesh/pending': {
    summary: 'calls of all users that wait for an answer, newest first',
    query: meshPendingQuery,
    answer: meshPendingAnswer,
  },
  'GET /mesh/dead-letters': {
    summary: 'dead letters, oldest first',
    query: deadLettersQuery,
    answer: deadLettersAnswer,
  },
  [`GET ${letter}`]: { summary: 'a dead letter with its message', answer: deadLetterAnswer },
  [`DELETE ${letter}`]: {
    summary: 'removes a dead letter',
    answer: z.looseObject({ removed: z.number().int() }),
  },
  [`POST ${letter}/replay`]: {
    summary: 'runs a dead letter again as a new invocation, and removes it',
    answer: replayAnswer,
  },
};

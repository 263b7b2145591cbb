import type { Groups } from './command/program.ts';

/** The meanings of the groups of commands. */
export const groups: Groups = {
  add: 'services of a project',
  render: 'the files of a deployment, from the definitions of a project',
  pending: 'calls that wait for an answer',
  invocations: 'what messages caused: who did what, how long',
  'dead-letters': 'runs and jobs that no service could finish',
  orphans: 'messages that no service takes',
  streams: 'the work queues of NATS',
  cards: 'the services that the mesh knows',
  user: 'all data of a user',
  keys: 'API keys for callers of the gateway',
  accounts: 'NATS accounts in the JWT form',
  rights: 'the rights of services on NATS and Redis',
};

import type { OpKind } from '../../chaos/model.ts';
import type { Say } from '../../chaos/plan/steps.ts';
import type { Step, Visit } from '../clients/visit.ts';
import type { Scenario } from './scenario.ts';

const gateway = 2;
const front = { gateway, front_agent: 2 } as const;
const withTool = { ...front, add_remote: 2 } as const;
const withMiddle = { ...withTool, middle_agent: 2 } as const;
const whole = { ...withMiddle, back_agent: 2 } as const;
const withJobs = { ...front, long_work: 2 } as const;

function say(id: string, kind: OpKind, more: Partial<Say> = {}): Say {
  return { do: 'say', id, kind, via: 'http', whenBusy: 'enqueue', reads: 'steady', atMs: 0, ...more };
}

const visit = (...bursts: Step[][]): Visit => ({ user: 'u1', bursts });
const one = (kind: OpKind, more?: Partial<Say>) => [visit([say('1', kind, more)])];

const confirmed: Step[][] = [
  [say('1', 'confirm')],
  [{ do: 'answer', id: '2', to: '1', confirmed: true, atMs: 0 }],
];

/** Two calls of a tool of the client, one behind the answer to the other. */
const answeredByClient: Step[][] = [
  [say('1', 'client')],
  [{ do: 'answer', id: '2', to: '1', confirmed: true, atMs: 0 }],
  [{ do: 'answer', id: '3', to: '1', confirmed: true, atMs: 0 }],
];

const overHttp: readonly Visit[] = [
  visit(
    ...answeredByClient.slice(0, 2),
    [{ do: 'upload', id: '3', bytes: 100, atMs: 0 }],
    [{ do: 'delete', again: true, atMs: 0 }],
    [say('4', 'stream')],
  ),
  visit([say('5', 'stream', { reads: 'leaves' }), { do: 'cancel', of: '5', when: 'first-word', atMs: 0 }]),
];

/** Small traffic: each scenario shows one way through the mesh. */
const list: readonly Scenario[] = [
  { name: 'plain', replicas: front, visits: one('stream') },
  { name: 'local', replicas: front, visits: one('local') },
  { name: 'remote', replicas: withTool, visits: one('remote') },
  { name: 'both', replicas: withTool, visits: one('both') },
  { name: 'transfer', replicas: withMiddle, visits: one('transfer') },
  { name: 'nested', replicas: whole, visits: one('nested') },
  { name: 'fan', replicas: { ...withTool, back_agent: 2 }, visits: one('fan') },
  { name: 'queued', replicas: front, visits: one('local', { via: 'nats' }) },
  { name: 'large', replicas: front, visits: one('local', { padBytes: 70_000 }) },
  { name: 'confirm', replicas: front, visits: [visit(...confirmed)] },
  { name: 'client', replicas: front, visits: [visit(...answeredByClient)] },
  {
    name: 'ticket',
    replicas: withJobs,
    visits: [visit([say('1', 'ticket')], [{ do: 'outcome', id: '2', to: '1', times: 2, atMs: 0 }])],
  },
  { name: 'job', replicas: withJobs, visits: one('longjob') },
  {
    name: 'cancel',
    replicas: withJobs,
    visits: [visit([say('1', 'longjob'), { do: 'cancel', of: '1', when: 'call', atMs: 5 }])],
    // The traffic itself ends the runs.
    leastShare: 0,
  },
  {
    name: 'deadline',
    replicas: withJobs,
    visits: one('longjob', { deadlineMs: 400, via: 'nats' }),
    leastShare: 0,
  },
  {
    name: 'order',
    replicas: withTool,
    visits: [visit([say('1', 'remote'), say('2', 'local'), say('3', 'local')])],
  },
  {
    name: 'interrupt',
    replicas: withTool,
    visits: [visit([say('1', 'remote'), say('2', 'local', { whenBusy: 'interrupt', atMs: 20 })])],
    // The traffic itself ends the runs.
    leastShare: 0,
  },
  {
    name: 'remove',
    replicas: front,
    visits: [visit([say('1', 'local')], [{ do: 'delete', again: true, atMs: 0 }], [say('2', 'local')])],
    // The traffic itself ends the runs.
    leastShare: 0,
  },
  {
    name: 'erase',
    replicas: withTool,
    visits: [visit([say('1', 'remote')], [say('2', 'file'), { do: 'deleteUser', atMs: 30 }])],
    // The traffic itself ends the runs.
    leastShare: 0,
  },
  {
    name: 'files',
    replicas: front,
    visits: [visit([say('1', 'file'), { do: 'upload', id: '2', bytes: 100, atMs: 5 }])],
  },
  {
    name: 'fork',
    replicas: front,
    visits: [visit([say('1', 'local')], [{ do: 'fork', goOn: true, atMs: 0 }], [say('2', 'local')])],
  },
  {
    name: 'rewind',
    replicas: front,
    visits: [
      visit(
        [say('1', 'local')],
        [say('2', 'local')],
        [{ do: 'rewind', before: '2', atMs: 0 }],
        [say('3', 'local')],
      ),
    ],
  },
  {
    name: 'version',
    replicas: withTool,
    visits: [visit([say('1', 'both')], [say('2', 'both', { atMs: 300 })])],
    rolls: 'front_agent',
  },
  {
    name: 'http',
    replicas: front,
    visits: overHttp,
    hasHttp: true,
    // The traffic itself ends runs.
    leastShare: 0,
  },
  {
    name: 'mixed',
    replicas: whole,
    visits: [
      visit(...confirmed),
      { user: 'u2', bursts: [[say('3', 'transfer')], [say('4', 'nested')]] },
      visit([say('5', 'both')]),
    ],
  },
];

/** The scenarios by their names. */
export const scenarios: ReadonlyMap<string, Scenario> = new Map(list.map((each) => [each.name, each]));

/** Returns a scenario. @throws Error that lists the names */
export function scenarioOf(name: string): Scenario {
  const scenario = scenarios.get(name);
  if (!scenario)
    throw new Error(`there is no scenario "${name}"; use one of: ${[...scenarios.keys()].join(', ')}`);
  return scenario;
}

import type { Random } from '@agentmesh/testing';
import { type OpKind, talkKinds } from '../model.ts';
import type { Reading, Say, Step } from './steps.ts';

/** The means to plan a visit: random numbers, and a new id for each step. */
export interface Planner {
  random: Random;
  nextId: () => string;
}

type Bursts = (planner: Planner) => Step[][];

/** Just over the greatest message of NATS, so that the message travels as a claim. */
const largeBytes = 1_100_000;

/** Plans a message. */
function say({ random, nextId }: Planner, kind: OpKind, more: Partial<Say> = {}): Say {
  return {
    ...{ do: 'say', id: nextId(), kind, atMs: 0, whenBusy: 'enqueue' },
    via: random.chance(0.3) ? 'nats' : 'http',
    reads: 'steady',
    ...more,
  };
}

const anyTalk = (planner: Planner, more: Partial<Say> = {}) =>
  say(planner, planner.random.pick(talkKinds), more);

const times = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));

/** One message after the other. */
const talk: Bursts = (planner) => times(planner.random.integer(1, 3), () => [anyTalk(planner)]);

/** Several messages within some milliseconds. */
const crowd: Bursts = (planner) => {
  const { random } = planner;
  let atMs = 0;
  return [
    times(random.integer(2, 4), () => {
      const step = anyTalk(planner, { atMs });
      atMs += random.chance(0.3) ? 0 : random.integer(1, 9);
      return step;
    }),
  ];
};

/** A job, which may last longer than the run that began it, and perhaps a message meanwhile. */
const job: Bursts = (planner) => {
  const { random } = planner;
  const work = say(planner, random.pick(['job', 'longjob']));
  return [random.chance(0.5) ? [work, anyTalk(planner, { atMs: random.integer(5, 900) })] : [work]];
};

/** A ticket, and its outcome from outside: once, twice, or after other messages. */
const ticket: Bursts = (planner) => {
  const { random, nextId } = planner;
  const open = say(planner, 'ticket');
  const outcome: Step = {
    ...{ do: 'outcome', id: nextId(), to: open.id, atMs: random.integer(0, 200) },
    times: random.chance(0.4) ? 2 : 1,
  };
  const late: Step[][] = random.chance(0.4) ? [[anyTalk(planner)]] : [];
  return [[open], ...late, [outcome, ...(random.chance(0.3) ? [anyTalk(planner, { atMs: 3 })] : [])]];
};

/** A question, and the answer of one client or of two clients at once. */
const confirm: Bursts = (planner) => {
  const { random, nextId } = planner;
  const question = say(planner, 'confirm');
  const answers = times(random.chance(0.4) ? 2 : 1, (at): Step => {
    const confirmed = random.chance(0.75);
    return { do: 'answer', id: nextId(), to: question.id, confirmed, atMs: at * random.integer(0, 5) };
  });
  return [[question], answers];
};

/** A run that is cancelled at some moment, perhaps with another one behind it. */
const cancel: Bursts = (planner) => {
  const { random } = planner;
  const run = say(planner, random.pick([...talkKinds, 'longjob', 'ticket', 'remote'] as const));
  const stop: Step = {
    ...{ do: 'cancel', of: run.id },
    when: random.pick(['accepted', 'call', 'call', 'first-word', 'last-word'] as const),
    atMs: random.pick([0, 0, random.integer(1, 10), random.integer(10, 300)]),
  };
  return [[run, stop, ...(random.chance(0.5) ? [anyTalk(planner, { atMs: 5 })] : [])], [anyTalk(planner)]];
};

const interrupt: Bursts = (planner) => {
  const { random } = planner;
  const later = times(random.integer(1, 2), () =>
    anyTalk(planner, { whenBusy: 'interrupt', atMs: random.integer(2, 250) }),
  );
  return [[anyTalk(planner), ...later]];
};

const reject: Bursts = (planner) => [
  [anyTalk(planner), anyTalk(planner, { whenBusy: 'reject', atMs: planner.random.integer(0, 150) })],
];

/** A run with less time than it may need. */
const deadline: Bursts = (planner) => {
  const deadlineMs = planner.random.integer(20, 500);
  return [[anyTalk(planner, { via: 'nats', deadlineMs })], [anyTalk(planner)]];
};

/** The deletion of a session, also while a run is at work, and messages to a new session of the same id. */
const remove: Bursts = (planner) => {
  const { random } = planner;
  const again = random.chance(0.6);
  const end: Step = { do: 'delete', atMs: random.integer(0, 250), again };
  const first = random.chance(0.6) ? [[anyTalk(planner), end]] : [[anyTalk(planner)], [end]];
  return [...first, ...(again ? [[anyTalk(planner)]] : [])];
};

const fork: Bursts = (planner) => {
  const { random } = planner;
  const copy: Step = { do: 'fork', atMs: random.integer(0, 150), goOn: random.chance(0.7) };
  const second = random.chance(0.4) ? [[anyTalk(planner), copy]] : [[copy]];
  return [[anyTalk(planner)], ...second, [anyTalk(planner)]];
};

const rewind: Bursts = (planner) => {
  const [one, two] = [anyTalk(planner), anyTalk(planner)];
  const before = planner.random.pick([one.id, two.id]);
  return [[one], [two], [{ do: 'rewind', before, atMs: 0 }], [anyTalk(planner)]];
};

/** A large message, or a large result of a remote tool. */
const large: Bursts = (planner) =>
  planner.random.chance(0.5)
    ? [[anyTalk(planner, { via: 'http', padBytes: largeBytes })]]
    : [[say(planner, 'big')]];

/** Files that the agent saves, and files from the client. */
const files: Bursts = (planner) => {
  const { random, nextId } = planner;
  const upload: Step = {
    do: 'upload',
    id: nextId(),
    atMs: random.integer(0, 100),
    bytes: random.pick([100, 300_000]),
  };
  return [[say(planner, 'file'), upload], [say(planner, 'file')]];
};

/** Clients that read slowly, or that leave and come back. */
const readers: Bursts = (planner) =>
  times(2, () => [
    anyTalk(planner, { via: 'http', reads: planner.random.pick(['slow', 'leaves'] satisfies Reading[]) }),
  ]);

/** A message over both doors at once. */
const doors: Bursts = (planner) => [
  [anyTalk(planner, { via: 'nats' }), anyTalk(planner, { via: 'http', atMs: planner.random.integer(0, 9) })],
  [anyTalk(planner, { stateDelta: { said: planner.nextId() } })],
];

/** The kinds of visits. */
export const visitKinds = {
  ...{ talk, crowd, job, ticket, confirm, cancel, interrupt, reject, deadline, remove, fork, rewind },
  ...{ large, files, readers, doors },
} satisfies Record<string, Bursts>;
export type VisitKind = keyof typeof visitKinds;

export const allVisitKinds = Object.keys(visitKinds) as VisitKind[];

/** Reads a list of kinds of visits with commas between them. */
export function readVisitKinds(text: string): VisitKind[] {
  return text.split(',').map((name) => {
    const kind = allVisitKinds.find((each) => each === name);
    if (!kind)
      throw new Error(`there is no kind of visit "${name}"; use some of: ${allVisitKinds.join(', ')}`);
    return kind;
  });
}

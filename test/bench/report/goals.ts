import { pastTurns } from '../cases.ts';
import type { ServiceCosts } from '../service-costs.ts';

/** The median figures of a case over all rounds. */
export interface Figures {
  perSecond: number;
  /** The median time of one repetition, in ms. */
  p50: number;
  /** CPU time of all processes for one repetition, in µs. */
  cpu: number;
}

/** All results of one run of the benchmark. */
export interface Results {
  /** The figures by case and number in flight, such as `turn 64`. */
  figures: ReadonlyMap<string, Figures>;
  /** The requests to Redis and the commands of one turn. */
  redis?: { requests: number; commands: number };
  service?: ServiceCosts;
}

/** A goal of the benchmark. A figure or a floor that was not measured is undefined. */
export interface Goal {
  what: string;
  unit: '×' | 'µs' | 'ms' | 'MiB' | 'KiB' | '';
  goal: number;
  /** True for a goal that a figure reaches from below. */
  isAtLeast?: boolean;
  figure: (results: Results) => number | undefined;
  /** The same figure for the client libraries alone. */
  floor?: (results: Results) => number | undefined;
}

/** A goal with its figure and its verdict. */
export interface Verdict extends Pick<Goal, 'what' | 'unit' | 'goal' | 'isAtLeast'> {
  figure: number | undefined;
  floor: number | undefined;
  verdict: 'reached' | 'missed' | 'not measured';
}

type Key = keyof Figures;

/** Returns a function that divides a figure of one case by that of another one. */
function ratio(key: Key, of: string, to: string): Goal['figure'] {
  return ({ figures }) => divide(figures.get(of)?.[key], figures.get(to)?.[key]);
}

/** Returns a function that tells the time of a further step with a call, in ms. */
function furtherStep(id: string): Goal['figure'] {
  return ({ figures }) => {
    const [one, eleven] = [figures.get(`${id}-1 1`)?.p50, figures.get(`${id}-11 1`)?.p50];
    return one === undefined || eleven === undefined ? undefined : (eleven - one) / 10;
  };
}

function divide(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a / b;
}

/** The goals, in the order in which they are shown. */
const goals: readonly Goal[] = [
  {
    ...{ what: 'durable turn ÷ floor, time, 1 in flight', unit: '×', goal: 1.8 },
    figure: ratio('p50', 'turn 1', 'floor-turn 1'),
  },
  {
    ...{ what: 'durable turns ÷ floor, rate, 64 in flight', unit: '×', goal: 0.4, isAtLeast: true },
    figure: ratio('perSecond', 'turn 64', 'floor-turn 64'),
  },
  {
    ...{ what: 'CPU of all processes for a turn, 64 in flight', unit: 'µs', goal: 900 },
    figure: ({ figures }) => figures.get('turn 64')?.cpu,
    floor: ({ figures }) => figures.get('floor-turn 64')?.cpu,
  },
  {
    ...{ what: 'requests to Redis in a turn', unit: '', goal: 7 },
    figure: ({ redis }) => redis?.requests,
  },
  {
    ...{ what: 'commands of Redis in a turn', unit: '', goal: 80 },
    figure: ({ redis }) => redis?.commands,
  },
  {
    ...{ what: 'ask ÷ request of nats.js, time, 1 in flight', unit: '×', goal: 5 },
    figure: ratio('p50', 'ask 1', 'raw 1'),
    floor: ratio('p50', 'floor-ask 1', 'raw 1'),
  },
  {
    ...{ what: 'asks ÷ requests of nats.js, rate, 64 in flight', unit: '×', goal: 1 / 8, isAtLeast: true },
    figure: ratio('perSecond', 'ask 64', 'raw 64'),
    floor: ratio('perSecond', 'floor-ask 64', 'raw 64'),
  },
  {
    ...{ what: 'call of a tool in another process ÷ request of nats.js, time', unit: '×', goal: 3 },
    figure: ratio('p50', 'tool 1', 'raw 1'),
  },
  {
    ...{ what: 'each further step with a remote call, committed', unit: 'ms', goal: 1 },
    figure: furtherStep('steps'),
    floor: furtherStep('floor-steps'),
  },
  {
    ...{
      what: `durable turns ÷ ADK in memory, rate, after ${pastTurns} turns`,
      unit: '×',
      goal: 10,
      isAtLeast: true,
    },
    figure: ratio('perSecond', 'long-turn 1', 'long-adk 1'),
  },
  {
    ...{ what: "InMemoryRunner ÷ ADK's, time, new session", unit: '×', goal: 0.5 },
    figure: ratio('p50', 'memory 1', 'adk 1'),
  },
  {
    ...{ what: 'memory of a service without work', unit: 'MiB', goal: 90 },
    figure: ({ service }) => service?.idleMiB,
  },
  {
    ...{ what: 'start of a service to its first answer', unit: 'ms', goal: 700 },
    figure: ({ service }) => service?.coldStartMs,
  },
  {
    ...{ what: 'memory of a run that waits for its model', unit: 'KiB', goal: 32 },
    figure: ({ service }) => service?.waitingRunKiB,
  },
  {
    ...{ what: 'durable turns ÷ ADK with PostgreSQL, 20 sessions', unit: '×', goal: 20, isAtLeast: true },
    figure: ratio('perSecond', 'sessions-turn 20', 'sessions-adk 20'),
  },
  {
    ...{ what: 'added delay of a token for each hop ÷ publish and receive of nats.js', unit: '×', goal: 1.5 },
    figure: ({ figures }) => {
      const [one, three] = [figures.get('token-1 1')?.p50, figures.get('token-3 1')?.p50];
      const added = one === undefined || three === undefined ? undefined : (three - one) / 2;
      return divide(added, figures.get('token-raw 1')?.p50);
    },
  },
];

/** Compares the results with the goals. */
export function verdictsOn(results: Results): Verdict[] {
  return goals.map(({ what, unit, goal, isAtLeast = false, ...each }) => {
    const figure = each.figure(results);
    const isReached = figure !== undefined && (isAtLeast ? figure >= goal : figure <= goal);
    return {
      ...{ what, unit, goal, isAtLeast, figure, floor: each.floor?.(results) },
      verdict: figure === undefined ? 'not measured' : isReached ? 'reached' : 'missed',
    };
  });
}

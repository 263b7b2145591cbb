import type { History, Violation } from './check/history.ts';
import { nameOf } from './check/history.ts';
import { repeats } from './check/tool-rules.ts';
import type { ChaosResult } from './run-chaos.ts';

/** The figures of a run. */
export interface Figures {
  offered: number;
  /** The number of operations for which a client saw the first byte of an answer. */
  acknowledged: number;
  /** The number of operations whose invocation succeeded, and whose client got the end. */
  completed: number;
  failed: number;
  /** The completed share of the offered work, from 0 to 1. */
  share: number;
  /** The number of attempts that no gateway accepted. */
  refused: number;
  reconnects: number;
  events: number;
  redeliveries: number;
  kills: number;
  /** The numbers of calls whose work was done more than once, by tool. */
  repeats: Record<string, number>;
  violations: number;
}

export function figuresOf({ traffic, history, violations, kills, redeliveries }: ChaosResult): Figures {
  const status = new Map(history.invocations.map((each) => [each.invocationId, each.status]));
  const taken = traffic.operations.filter(({ attempts }) => attempts.at(-1)?.invocationId !== undefined);
  const statusOf = (wanted: string) =>
    taken.filter(({ done, attempts }) => done && status.get(attempts.at(-1)?.invocationId ?? '') === wanted)
      .length;
  const attempts = traffic.operations.flatMap((each) => each.attempts);
  const offered = traffic.operations.length;
  const completed = statusOf('completed');
  return {
    offered,
    acknowledged: taken.length,
    completed,
    failed: statusOf('failed'),
    share: completed / offered,
    refused: attempts.filter(({ invocationId }) => invocationId === undefined).length,
    reconnects: sum(attempts.map(({ view }) => view.reconnects)),
    events: sum(history.sessions.map(({ events }) => events.length)),
    redeliveries,
    kills: sum(Object.values(kills)),
    repeats: repeats(history),
    violations: violations.length,
  };
}

/** Returns the figures as lines of text. */
export function describe(result: ChaosResult): string {
  const figures = figuresOf(result);
  const { traffic, kills, ghosts, unsettled, trafficMs, totalMs, violations } = result;
  const times = traffic.operations.map(({ ms }) => ms).sort((one, other) => one - other);
  const quantile = (share: number) => Math.round(times[Math.floor(share * (times.length - 1))] ?? 0);
  const lines = [
    `offered       ${figures.offered}, acknowledged ${figures.acknowledged}, completed ${figures.completed} (${(100 * figures.share).toFixed(1)} %), failed ${figures.failed}`,
    `clients       ${figures.refused} attempts refused, came back ${figures.reconnects} times; an operation took ${quantile(0.5)} ms p50, ${quantile(0.99)} ms p99, ${quantile(1)} ms at most`,
    `log           ${figures.events} events in ${result.history.sessions.length} sessions, ${result.history.invocations.length} invocations`,
    `killed        ${figures.kills} times: ${listOf(kills)}`,
    `redeliveries  ${figures.redeliveries}; work done again: ${listOf(figures.repeats) || 'none'}; acknowledged commands that NATS kept: ${ghosts}`,
    `time          ${(trafficMs / 1_000).toFixed(1)} s of work, ${(totalMs / 1_000).toFixed(1)} s in all`,
    ...unsettled.map((what) => `unsettled     ${what}`),
    `violations    ${violations.length}`,
  ];
  return lines.join('\n');
}

/**
 * Returns the part of a history to save after violations: the violations, and all data about their sessions.
 */
export function violatingHistory(seed: number, history: History, violations: readonly Violation[]) {
  const named = new Set(violations.flatMap(({ session = [] }) => session));
  const callers = history.sessions.filter((session) => named.has(nameOf(session)));
  const users = new Set(callers.map(({ appName, userId }) => `${appName}/${userId}/`));
  const isNear = (name: string) => [...users].some((user) => name.startsWith(user));
  return {
    seed,
    violations,
    sessions: history.sessions.filter((session) => isNear(nameOf(session))),
    invocations: history.invocations.filter((invocation) => isNear(nameOf(invocation))),
    executions: history.executions,
    killed: history.killed,
  };
}

function listOf(counts: Record<string, number>): string {
  return Object.entries(counts)
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([what, count]) => `${what} ${count}`)
    .join(', ');
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);

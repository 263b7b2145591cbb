import { type History, nameOf, type Violation } from './check/history.ts';
import { modelOf } from './check/model.ts';
import { repeats } from './check/rules/effects-once.ts';
import { recoveryTimes } from './recovery-times.ts';
import type { ChaosResult } from './run-chaos.ts';

/** The figures of a run. */
export interface Figures {
  /** The number of messages and answers that clients sent, further tries not counted. */
  offered: number;
  /** The number of runs whose acceptance a client knows. */
  accepted: number;
  completed: number;
  failed: number;
  /** The failed runs by the code of their errors, such as `cancelled`. */
  failures: Record<string, number>;
  /** The number of accepted runs whose records are gone with their deleted sessions. */
  deleted: number;
  /** The completed share of the accepted runs, from 0 to 1. */
  share: number;
  refused: number;
  reconnects: number;
  events: number;
  redeliveries: number;
  faults: number;
  /** The numbers of calls that had more than one effect, by tool. */
  repeats: Record<string, number>;
  violations: number;
}

export function figuresOf({ history, violations, redeliveries }: ChaosResult): Figures {
  const { messages } = history;
  const { runOf } = modelOf(history);
  const taken = messages.filter(({ acceptedAt }) => acceptedAt !== undefined);
  const runs = new Set(taken.flatMap((message) => runOf(message) ?? []));
  const endings = [...runs].map(({ ends }) => ends[0]);
  const completed = endings.filter((end) => end?.status === 'completed').length;
  const failed = endings.filter((end) => end?.status === 'failed');
  return {
    offered: messages.filter(({ repeats: first }) => first === undefined).length,
    ...{ accepted: runs.size, completed, share: completed / Math.max(1, runs.size) },
    ...{ failed: failed.length, failures: countsOf(failed, (end) => end?.code ?? 'no code') },
    deleted: runs.size - completed - failed.length,
    refused: messages.filter(({ refused }) => refused).length,
    reconnects: sum(messages.map(({ view }) => view?.reconnects ?? 0)),
    events: sum(history.sessions.map(({ events }) => events.length)),
    redeliveries,
    faults: history.faults.length,
    repeats: repeats(history.executions),
    violations: violations.length,
  };
}

/** Returns the figures as lines of text. */
export function describe(result: ChaosResult): string {
  const figures = figuresOf(result);
  const { history, traffic, trafficMs, totalMs, violations } = result;
  const times = traffic.operations.map(({ ms }) => ms);
  const lines = [
    `offered       ${figures.offered} messages, refused ${figures.refused}`,
    `accepted      ${figures.accepted} runs: completed ${figures.completed} (${(100 * figures.share).toFixed(1)} %), failed ${figures.failed}${figures.failed > 0 ? ` (${listOf(figures.failures)})` : ''}, deleted with their sessions ${figures.deleted}`,
    `clients       came back ${figures.reconnects} times; an operation took ${Math.round(quantile(times, 0.5))} ms p50, ${Math.round(quantile(times, 0.99))} ms p99, ${Math.round(quantile(times, 1))} ms at most`,
    `log           ${figures.events} events in ${history.sessions.length} sessions, ${history.invocations.length} invocations`,
    `faults        ${figures.faults}: ${listOf(countsOf(history.faults, ({ kind }) => kind)) || 'none'}`,
    ...recoveryTimes(history).map(
      ({ kind, count, p50, p99 }) =>
        `recovery      ${kind}: ${count} times, ${Math.round(p50)} ms p50, ${Math.round(p99)} ms p99 longest silence of a run`,
    ),
    `redeliveries  ${figures.redeliveries}; work done again: ${listOf(figures.repeats) || 'none'}; lost payloads: ${result.lostPayloads}`,
    `time          ${(trafficMs / 1_000).toFixed(1)} s of work, ${(totalMs / 1_000).toFixed(1)} s in all`,
    `violations    ${violations.length}${violations.length > 0 ? `: ${listOf(countsOf(violations, ({ rule }) => rule))}` : ''}`,
  ];
  return lines.join('\n');
}

/** Returns the values' quantile; 0 for no values. */
function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
}

function countsOf<T>(all: readonly T[], nameOfOne: (one: T) => string): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(all, nameOfOne)].map(([name, found]) => [name, found.length]));
}

/**
 * Returns the part of a history to save after violations: the violations, and all data about the users of
 * their sessions. Executions, faults, lives and rest are complete.
 */
export function violatingHistory(seed: number, history: History, violations: readonly Violation[]) {
  const users = new Set(violations.flatMap(({ session }) => session?.replace(/[^/]*$/, '') ?? []));
  const isNear = (name: string) => [...users].some((user) => name.startsWith(user));
  const { sessions, invocations, messages, acts } = history;
  return {
    ...history,
    ...{ seed, violations },
    sessions: sessions.filter((session) => isNear(nameOf(session))),
    invocations: invocations.filter((invocation) => isNear(nameOf(invocation))),
    messages: messages.filter(({ session }) => isNear(nameOf(session))),
    acts: acts.filter(({ session }) => isNear(nameOf(session))),
  };
}

function listOf(counts: Record<string, number>): string {
  return Object.entries(counts)
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([what, count]) => `${what} ${count}`)
    .join(', ');
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);

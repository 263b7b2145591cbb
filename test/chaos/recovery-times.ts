import { type History, now } from './check/history.ts';
import { modelOf, type RunHistory } from './check/model.ts';

/** The recovery times of one kind of fault, in ms. */
export interface Recovery {
  kind: string;
  /** The number of faults of this kind while a run was under way. */
  count: number;
  p50: number;
  p99: number;
}

/**
 * Returns the recovery times by kind of fault. The recovery time of a fault is the time from the fault to the
 * next event of the slowest run that was under way: a run that had an event before the fault, and another one
 * after it. The events of the agents that a run uses as tools are events of the run.
 *
 * @param offsetMs the difference between the wall clock, by which events have their times, and the clock of
 * the history
 */
export function recoveryTimes(history: History, offsetMs = Date.now() - now()): Recovery[] {
  const ofCalls = Map.groupBy(
    history.sessions.filter(({ callId }) => callId !== undefined).flatMap(({ events }) => events),
    ({ event }) => event.invocationId,
  );
  const timesOf = ({ events, invocationId }: RunHistory) =>
    [...events, ...(ofCalls.get(invocationId) ?? [])]
      .map(({ event }) => ({ at: event.timestamp - offsetMs }))
      .sort((one, other) => one.at - other.at);
  const runs = modelOf(history).runs.map(timesOf);
  const found = history.faults.flatMap(({ at, kind }) => {
    const pauses = runs.flatMap((events) => {
      const next = events.find((event) => event.at > at);
      return next && events[0] && events[0].at <= at ? [next.at - at] : [];
    });
    return pauses.length === 0 ? [] : [{ kind, ms: Math.max(...pauses) }];
  });
  return [...Map.groupBy(found, ({ kind }) => kind)].map(([kind, faults]) => {
    const times = faults.map(({ ms }) => ms).sort((one, other) => one - other);
    const quantile = (share: number) => times[Math.ceil(share * times.length) - 1] ?? 0;
    return { kind, count: times.length, p50: quantile(0.5), p99: quantile(0.99) };
  });
}

import { type Fault, type History, now } from './check/history.ts';
import { modelOf, type RunHistory } from './check/model.ts';

/** The recovery times of one kind of fault, in ms. */
export interface Recovery {
  kind: string;
  /** The number of faults of this kind while a run was under way. */
  count: number;
  p50: number;
  p99: number;
}

/** The time after which a fault has struck for sure, in ms: a run may have an event before it strikes. */
const strikingMs = 100;

/**
 * Returns the recovery times by kind of fault. The recovery time of a fault is the longest silence that the
 * fault causes in a run: the time from the fault, or from the last event before the silence, to the next event
 * of the run. It counts runs that had an event before the fault or while the fault lasted, and another one
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
      .map(({ event }) => event.timestamp - offsetMs)
      .sort((one, other) => one - other);
  const runs = modelOf(history).runs.map(timesOf);
  const found = history.faults.flatMap((fault) => {
    const silences = runs.flatMap((times) => silencesIn(times, fault));
    return silences.length === 0 ? [] : [{ kind: fault.kind, ms: Math.max(...silences) }];
  });
  return [...Map.groupBy(found, ({ kind }) => kind)].map(([kind, faults]) => {
    const times = faults.map(({ ms }) => ms).sort((one, other) => one - other);
    const quantile = (share: number) => times[Math.ceil(share * times.length) - 1] ?? 0;
    return { kind, count: times.length, p50: quantile(0.5), p99: quantile(0.99) };
  });
}

/** Returns the silences of a run that begin before the end of a fault, and end after its beginning. */
function silencesIn(times: readonly number[], { at, forMs = 0 }: Fault): number[] {
  return times.slice(1).flatMap((next, n) => {
    const before = times[n] ?? next;
    return next > at && before <= at + forMs + strikingMs ? [next - Math.max(at, before)] : [];
  });
}

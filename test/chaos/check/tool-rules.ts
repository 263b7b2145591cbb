import { callsOf, responsesOf } from './log.ts';
import { type History, nameOf, type SessionHistory, type Violation } from './old-history.ts';

type Found = Omit<Violation, 'rule'>;

/**
 * Finds calls without exactly one response in their log, and responses without a call. A response may be
 * missing only when the invocation failed before it came. In the session of an agent that is used as a tool,
 * it may also be missing when the caller got a failure because no replica of the agent was left.
 */
export function oneResponse({ sessions, invocations }: History): Found[] {
  const failed = new Set(
    invocations.filter(({ status }) => status === 'failed').map(({ invocationId }) => invocationId),
  );
  const failedCalls = new Set(
    sessions
      .flatMap(({ events }) => responsesOf(events))
      .flatMap(({ id, response }) => ('error' in response ? [id] : [])),
  );
  return sessions.flatMap((session) => {
    const calls = callsOf(session.events);
    const isGivenUp = failedCalls.has(session.callId ?? '');
    const known = new Set(calls.map(({ id }) => id));
    const responses = Map.groupBy(responsesOf(session.events), ({ id }) => id);
    const where = (invocationId: string) => ({ session: nameOf(session), invocationId });
    const wrong = calls.flatMap(({ id, name, invocationId }) => {
      const count = responses.get(id)?.length ?? 0;
      if (count === 1 || (count === 0 && (isGivenUp || failed.has(invocationId)))) return [];
      return [{ ...where(invocationId), what: `call ${id} of ${name} has ${count} responses` }];
    });
    const stray = [...responses.values()]
      .flat()
      .filter(({ id }) => !known.has(id))
      .map(({ id, seq, invocationId }) => ({
        ...where(invocationId),
        what: `event ${seq} answers call ${id}, which is not in the log`,
      }));
    return [...wrong, ...stray];
  });
}

/**
 * Finds calls of counting tools that were not counted once. Each call with a result must be counted once, and
 * no call that is in no log may be counted. A tool that keeps its results by call id may repeat work only
 * when the replica that did it first was killed: between an outside effect and the storing of its result a
 * crash leaves no trace.
 */
export function countedOnce(history: History): Found[] {
  return [...uncounted(history), ...strayCounts(history), ...doneAgain(history)];
}

function uncounted({ sessions, counted, countingTools }: History): Found[] {
  const isCounted = new Set(counted);
  return sessions.flatMap((session) => {
    const succeeded = new Set(
      responsesOf(session.events).flatMap(({ id, response }) => ('error' in response ? [] : id)),
    );
    return callsOf(session.events)
      .filter(({ id, name }) => countingTools.includes(name) && succeeded.has(id) && !isCounted.has(id))
      .map(({ id, name, invocationId }) => ({
        session: nameOf(session),
        invocationId,
        what: `call ${id} of ${name} has a result and was not counted`,
      }));
  });
}

function strayCounts({ sessions, counted }: History): Found[] {
  const known = new Set(sessions.flatMap(({ events }) => callsOf(events).map(({ id }) => id)));
  const twice = counted.filter((id, at) => counted.indexOf(id) !== at);
  return [
    ...counted
      .filter((id) => !known.has(id))
      .map((id) => ({ what: `call ${id} was counted and is in no log` })),
    ...twice.map((id) => ({ what: `call ${id} was counted twice` })),
  ];
}

function doneAgain({ executions, onceTools, killed, sessions }: History): Found[] {
  const dead = new Set(killed);
  const calls = Map.groupBy(
    executions.filter(({ tool }) => onceTools.includes(tool)),
    ({ callId }) => callId,
  );
  return [...calls].flatMap(([callId, done]) => {
    const repeated = done.slice(0, -1).find(({ replica }) => !dead.has(replica));
    if (!repeated) return [];
    const who = done.map(({ replica }) => replica).join(', ');
    return [
      {
        ...placeOf(sessions, callId),
        what: `the work of call ${callId} was done ${done.length} times (${who}), and ${repeated.replica} was alive`,
      },
    ];
  });
}

function placeOf(sessions: readonly SessionHistory[], callId: string): Partial<Found> {
  for (const session of sessions) {
    const call = callsOf(session.events).find(({ id }) => id === callId);
    if (call) return { session: nameOf(session), invocationId: call.invocationId };
  }
  return {};
}

/**
 * Counts the calls whose work was done more than once, by tool. This is the effect of "at least once" on the
 * outside world.
 */
export function repeats({ executions }: Pick<History, 'executions'>): Record<string, number> {
  const counts: Record<string, number> = {};
  const calls = Map.groupBy(executions, ({ callId }) => callId);
  for (const [first, second] of calls.values()) {
    if (first && second) counts[first.tool] = (counts[first.tool] ?? 0) + 1;
  }
  return counts;
}

import { type Execution, type Found, type Life, nameOf, type Span } from '../history.ts';
import { callsOf, type LoggedCall, responsesOf } from '../log.ts';
import { isCopied, type Model } from '../model.ts';
import { workAfterLimits } from './work-after-limits.ts';

/**
 * Finds effects of counting tools that break the promise: a call with a result and without an effect, an
 * effect for a call in no log, a repeated effect of a remote tool whose first process lived, and an effect
 * after the end of a cancelled run, after a lost cancellation, or long after a deadline.
 *
 * A tool in its agent's process may repeat its effect. A remote tool may repeat it only when the process of
 * the earlier effect died, or could reach neither server, before the later effect. A pause is no excuse: the
 * claim of a paused process is not taken over.
 */
export function effectsOnce(model: Model): Found[] {
  const calls = new Map(
    model.history.sessions.flatMap((session) =>
      callsOf(session.events).map((call) => [call.id, { ...call, session: nameOf(session) }] as const),
    ),
  );
  return [
    ...withoutEffect(model),
    ...strayEffects(model, calls),
    ...repeatedEffects(model, calls),
    ...lateEffects(model, calls),
    ...workAfterLimits(model),
  ];
}

type Calls = ReadonlyMap<string, LoggedCall & { session: string }>;

const placeOf = (calls: Calls, { callId, invocationId }: Execution): Omit<Found, 'what'> => {
  const call = calls.get(callId);
  return call ? { session: call.session, invocationId } : { invocationId };
};

function withoutEffect({ history }: Model): Found[] {
  const { sessions, executions, countingTools } = history;
  const carriedOut = new Set(executions.map(({ callId }) => callId));
  return sessions.flatMap((session) => {
    const succeeded = new Set(
      responsesOf(session.events).flatMap(({ id, response }) => ('counted' in response ? [id] : [])),
    );
    return callsOf(session.events)
      .filter(({ id, name }) => countingTools.includes(name) && succeeded.has(id) && !carriedOut.has(id))
      .filter(({ invocationId }) => !isCopied(session, invocationId))
      .map(({ id, name, invocationId }) => ({
        session: nameOf(session),
        invocationId,
        what: `call ${id} of ${name} has a result and had no effect`,
      }));
  });
}

function strayEffects(model: Model, calls: Calls): Found[] {
  const { messages, executions } = model.history;
  // The logs of deleted sessions are gone.
  const gone = messages.filter((message) => model.isDeleted(message.session, message) && !message.refused);
  const deleted = new Set(gone.map(({ invocationId }) => invocationId));
  // A client that was never answered does not know its invocation.
  const isUnknown = (id: string) =>
    deleted.has(undefined) && !model.runs.some(({ invocationId }) => invocationId === id);
  const stray = executions.filter(
    ({ callId, invocationId }) =>
      !calls.has(callId) && !deleted.has(invocationId) && !isUnknown(invocationId),
  );
  return [...Map.groupBy(stray, ({ callId }) => callId).values()].flatMap(([first]): Found[] =>
    first
      ? [{ invocationId: first.invocationId, what: `call ${first.callId} had an effect and is in no log` }]
      : [],
  );
}

function repeatedEffects(model: Model, calls: Calls): Found[] {
  const { executions, onceTools, lives } = model.history;
  const lifeOf = new Map(lives.map((life) => [life.life, life]));
  const overAt = completionsOf(model);
  const remote = executions.filter(({ tool }) => onceTools.includes(tool));
  return [...Map.groupBy(remote, ({ callId }) => callId)].flatMap(([callId, all]): Found[] => {
    const who = all.map(({ life }) => life).join(', ');
    const isLong = calls.get(callId)?.isLong ?? false;
    return all.slice(1).flatMap((next, at): Found[] => {
      const before = all[at];
      const told = isLong ? undefined : overAt.get(next.invocationId);
      const isOver = told !== undefined && next.beganAt > told;
      if (!before || (!isOver && isExcused(model, lifeOf.get(before.life), [before.beganAt, next.beganAt])))
        return [];
      const why = isOver ? 'its run had completed' : `${before.life} lived and had a server`;
      const what = `call ${callId} had ${all.length} effects (${who}), and ${why} before effect ${at + 2}`;
      return [{ ...placeOf(calls, next), what }];
    });
  });
}

/** Returns the times at which clients were told that a run completed, by invocation. */
function completionsOf({ runs }: Model): Map<string, number> {
  return new Map(
    runs.flatMap(({ invocationId, resume, ends, message }) => {
      const told = message?.view?.ends[0];
      const isKnown = told && resume === undefined && ends[0]?.status === 'completed';
      return isKnown ? [[invocationId, told.at] as const] : [];
    }),
  );
}

/**
 * Tells whether a process died, was told to stop, or was alone between its effect and the next one. A process
 * that stops hands back what it cannot finish in its grace period. NATS closes the connection of a paused process
 * when it restarts, so that the process is gone for the others.
 */
function isExcused({ history }: Model, life: Life | undefined, between: Span): boolean {
  if (!life) return false;
  const { diedAt = Number.POSITIVE_INFINITY, pauses, cutOffs, startedAt, replica } = life;
  const isStopped = history.faults.some(
    ({ kind, target, at }) => kind === 'term' && target === replica && at >= startedAt && at <= between[1],
  );
  if (isStopped && diedAt >= between[0]) return true;
  const restarts = history.faults.filter(({ kind, target }) => kind === 'restart' && target === 'nats');
  const closed = pauses.filter((pause) =>
    restarts.some(({ at, forMs = 0 }) => overlap([at, at + forMs], pause)),
  );
  return (
    (diedAt >= between[0] && diedAt <= between[1]) ||
    [...cutOffs, ...closed].some((each) => overlap(each, between))
  );
}

const overlap = (one: Span, other: Span) => one[0] <= other[1] && other[0] <= one[1];

/**
 * Finds effects of a cancelled run that came after its cancellation was acknowledged and its client was told
 * the end. A job goes on after its run. A process that was paused, alone, or not yet
 * reached by the cancellation could not know.
 */
function lateEffects(model: Model, calls: Calls): Found[] {
  const { executions, acts, lives } = model.history;
  return model.runs.flatMap((run): Found[] => {
    const told = run.message?.view?.ends[0];
    const cancel = acts.find(
      ({ kind, outcome, invocationId }) =>
        kind === 'cancel' && outcome === 'done' && invocationId === run.invocationId,
    );
    if (!told || cancel?.doneAt === undefined || run.ends[0]?.code !== 'cancelled' || run.resume) return [];
    const after = Math.max(told.at, cancel.doneAt);
    const late = executions.find(
      (each) =>
        each.invocationId === run.invocationId &&
        each.beganAt > after &&
        !calls.get(each.callId)?.isLong &&
        !wasAway(
          lives.find(({ life }) => life === each.life),
          [cancel.sentAt, each.beganAt],
        ),
    );
    if (!late) return [];
    const what = `call ${late.callId} of ${late.tool} had an effect ${Math.round(late.beganAt - after)} ms after its client was told that it is cancelled`;
    return [{ ...model.place(run), what }];
  });
}

const wasAway = (life: Life | undefined, between: Span) =>
  life !== undefined &&
  [...life.pauses, ...life.cutOffs, ...life.unaware].some((each) => overlap(each, between));

/** Counts the calls that had more than one effect, by tool. */
export function repeats(executions: readonly Execution[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const [first, second] of Map.groupBy(executions, ({ callId }) => callId).values()) {
    if (first && second) counts[first.tool] = (counts[first.tool] ?? 0) + 1;
  }
  return counts;
}

import type { Execution, Found, Life } from '../history.ts';
import { nameOf } from '../history.ts';
import { callsOf } from '../log.ts';
import type { Model, RunHistory } from '../model.ts';

/**
 * Finds work that goes on although it may not: an effect of a run after a cancellation that was acknowledged and of
 * which its record has no mark, and an effect of a run long after its deadline. Jobs go on after their runs, and a
 * process that was stopped or cut off may end its step late.
 */
export function workAfterLimits(model: Model): Found[] {
  const { executions, sessions } = model.history;
  const long = new Set(
    sessions.flatMap(({ events }) => callsOf(events).flatMap(({ id, isLong }) => (isLong ? [id] : []))),
  );
  const ofInvocation = Map.groupBy(
    executions.filter(({ callId }) => !long.has(callId)),
    ({ invocationId }) => invocationId,
  );
  return model.runs.flatMap((run) => {
    const effects = ofInvocation.get(run.invocationId) ?? [];
    return run.resume === undefined && !model.isDeleted(run.session, run.message)
      ? [...afterLostCancel(model, run, effects), ...afterDeadline(model, run, effects)]
      : [];
  });
}

function afterLostCancel(model: Model, run: RunHistory, effects: readonly Execution[]): Found[] {
  const { invocationId, session, cancelled, ends } = run;
  if (cancelled !== undefined || ends.some(({ code }) => code === 'cancelled')) return [];
  const act = model.history.acts.find(
    ({ kind, outcome, ...each }) =>
      kind === 'cancel' &&
      outcome === 'done' &&
      each.invocationId === invocationId &&
      nameOf(each.session) === nameOf(session),
  );
  const { sentAt = 0, doneAt = Number.POSITIVE_INFINITY } = act ?? {};
  // A run that has ended is not cancelled. An attempt that was taken over may still make its call.
  if (run.message?.view?.ends.some(({ at }) => at < sentAt)) return [];
  const lives = livesOf(model);
  const late = effects.find(
    ({ beganAt, life }) => beganAt > doneAt && !wasAway(lives.get(life), doneAt, beganAt),
  );
  if (!late) return [];
  const what = `call ${late.callId} of ${late.tool} had an effect after a cancellation that nothing records`;
  return [{ ...model.place(run), what }];
}

function afterDeadline(model: Model, run: RunHistory, effects: readonly Execution[]): Found[] {
  const { message } = run;
  if (message?.deadlineMs === undefined) return [];
  const deadline = message.sentAt + message.deadlineMs;
  const lives = livesOf(model);
  const late = effects.find(
    ({ beganAt, life }) =>
      beganAt > deadline + model.history.deadlineSlackMs && !wasAway(lives.get(life), deadline, beganAt),
  );
  if (!late) return [];
  const what = `call ${late.callId} of ${late.tool} had an effect ${Math.round(late.beganAt - deadline)} ms after the deadline of its run`;
  return [{ ...model.place(run), what }];
}

const livesOf = ({ history }: Model) => new Map(history.lives.map((life) => [life.life, life]));

/** Tells whether a process was stopped or cut off in a time. */
function wasAway(life: Life | undefined, from: number, to: number): boolean {
  return [...(life?.pauses ?? []), ...(life?.cutOffs ?? [])].some(([begin, end]) => begin < to && end > from);
}

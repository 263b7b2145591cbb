import { isDeepStrictEqual } from 'node:util';
import { counterKey, type Found, nameOf, type SessionHistory } from '../history.ts';
import { isRewind } from '../log.ts';
import type { Model, RunHistory } from '../model.ts';

/**
 * Finds updates of state that a later run did not see: each raise of the counter is one above the value
 * before it in the log, a completed run has all its raises, and the state change of a message is in the log. A run
 * whose writes Redis has lost may lack raises.
 */
export function noLostUpdate(model: Model): Found[] {
  return [
    ...model.roots.flatMap(counting),
    ...(model.history.hasLostWrites ? [] : model.runs.flatMap((run) => raises(model, run))),
    ...model.runs.flatMap((run) => ownDelta(model, run)),
  ];
}

function counting(session: SessionHistory): Found[] {
  let value = Number(session.initialState?.[counterKey] ?? 0);
  return session.events.flatMap(({ seq, event }): Found[] => {
    const next = event.actions.stateDelta[counterKey];
    if (next === undefined) return [];
    const before = value;
    value = Number(next ?? 0);
    if (isRewind(event) || value === before + 1) return [];
    const what = `event ${seq} sets ${counterKey} to ${value}, and it was ${before} before`;
    return [{ session: nameOf(session), invocationId: event.invocationId, what }];
  });
}

function raises(model: Model, run: RunHistory): Found[] {
  const { message, ends, events } = run;
  const { counts } = message ?? {};
  if (counts === undefined || ends[0]?.status !== 'completed' || events.length === 0) return [];
  const found = events.filter(({ event }) => event.actions.stateDelta[counterKey] !== undefined).length;
  if (found === counts) return [];
  return [{ ...model.place(run), what: `it raised ${counterKey} ${found} times, not ${counts} times` }];
}

function ownDelta(model: Model, run: RunHistory): Found[] {
  const [first] = run.events;
  const wanted = run.message?.stateDelta;
  // The rule about messages reports a run that does not begin with its message.
  if (!wanted || first?.event.author !== 'user') return [];
  const missing = Object.entries(wanted).find(
    ([key, value]) =>
      !key.startsWith('temp:') && !isDeepStrictEqual(first.event.actions.stateDelta[key], value),
  );
  if (!missing) return [];
  return [
    { ...model.place(run), what: `its message changes ${missing[0]}, and the log does not have this change` },
  ];
}

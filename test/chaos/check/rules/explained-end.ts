import { type Ending, type Found, type History, type Message, nameOf } from '../history.ts';
import type { Model, RunHistory } from '../model.ts';

/**
 * Finds runs that failed with a code that nothing in the history explains: neither their message, nor an act of a
 * client, nor a fault. A mesh that gives work up without a reason breaks its promise, also when it says so.
 */
export function explainedEnd(model: Model, run: RunHistory, end: Ending): Found[] {
  if (end.status === 'completed') return [];
  const { code = 'unknown' } = end;
  const explain = explanations[code];
  if (explain?.(model.history, run)) return [];
  return [{ ...model.place(run), what: `it failed with ${code}, and nothing in the history explains this` }];
}

type Explanation = (history: History, run: RunHistory) => boolean;

/** The codes that a run of a correct mesh may fail with. No other code has an explanation. */
const explanations: Record<string, Explanation | undefined> = {
  cancelled: (history, run) => isCancelled(history, run) || isInterrupted(history, run),
  deadline_exceeded: (_, { message }) => message?.deadlineMs !== undefined,
  // A session that is busy has another run.
  resource_exhausted: (history, { message, ...run }) =>
    message?.whenBusy === 'reject' && othersIn(history, { ...run, message }).length > 0,
  failed_precondition: (history, run) => isAnsweredElsewhere(history, run),
  unavailable: hasFaults,
  internal: killedItsProcesses,
};

function isCancelled({ acts }: History, { invocationId, resume, session }: RunHistory): boolean {
  return acts.some(
    (act) =>
      act.kind === 'cancel' &&
      act.outcome !== 'refused' &&
      act.invocationId === invocationId &&
      (act.resume === undefined || act.resume === resume) &&
      nameOf(act.session) === nameOf(session),
  );
}

/** A message that was sent earlier may come later, so its time does not matter. */
function isInterrupted(history: History, run: RunHistory): boolean {
  return othersIn(history, run).some(({ whenBusy }) => whenBusy === 'interrupt');
}

/** Returns the other messages to the session of a run. */
function othersIn({ messages }: History, { message, session }: RunHistory): Message[] {
  return messages.filter((other) => other !== message && nameOf(other.session) === nameOf(session));
}

/** An answer may come after another answer, or after its call was closed by the end or the return of its run. */
function isAnsweredElsewhere(history: History, { message, session }: RunHistory): boolean {
  const calls = new Set(message?.answers?.map(({ callId }) => callId));
  if (calls.size === 0) return false;
  const others = history.messages.filter((other) => other !== message);
  const isClosed = history.acts.some(
    ({ kind, ...act }) => (kind === 'cancel' || kind === 'rewind') && nameOf(act.session) === nameOf(session),
  );
  return isClosed || others.some(({ answers = [] }) => answers.some(({ callId }) => calls.has(callId)));
}

function hasFaults({ faults, lives }: History): boolean {
  const isHit = lives.some(
    ({ diedAt, pauses, cutOffs }) => diedAt !== undefined || pauses.length + cutOffs.length > 0,
  );
  return isHit || faults.length > 0;
}

/** A run at which too many processes died is given up. The rule `dead-letters` counts the deaths. */
function killedItsProcesses({ rest }: History, { invocationId }: RunHistory): boolean {
  return rest.deadLetters.some(
    ({ subject, payload, message }) =>
      /^\d+ processes died at this run/.test(message) && `${subject} ${payload}`.includes(invocationId),
  );
}

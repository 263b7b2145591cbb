import { messageEventId, runKey, type StoredEvent } from '@agentmesh/agent/internal';
import type { SessionRef } from '@agentmesh/protocol';
import { type Ending, type History, type Message, nameOf, type SessionHistory } from './history.ts';
import { isAside, isRewind, ofInvocation, rootsOf, textOf } from './log.ts';

/** One run in the history: its message, its events and its recorded end, as far as each is known. */
export interface RunHistory {
  session: SessionRef;
  invocationId: string;
  resume?: string;
  /** The run's events in its session, in order, without those that are committed beside runs. */
  events: StoredEvent[];
  message?: Message;
  /** The recorded ends of this run; a correct run has one. */
  ends: Ending[];
  /** The reason of a cancellation. */
  cancelled?: string;
}

/** The history as a list of runs, from which most rules work. */
export interface Model {
  history: History;
  /** The sessions to which clients write, without the deleted ones. */
  roots: SessionHistory[];
  runs: RunHistory[];
  session(ref: SessionRef): SessionHistory | undefined;
  /**
   * Tells whether the session was deleted after a message to it was sent, or may have been. Without a message:
   * whether it was ever deleted.
   */
  isDeleted(ref: SessionRef, message?: Message): boolean;
  /**
   * Tells whether NATS may have forgotten an acknowledgement, as a server does that dies before it syncs: a message
   * that was settled is delivered again.
   */
  forgetsAcks: boolean;
  runOf(message: Message): RunHistory | undefined;
  /** Returns the place of a run for a violation. */
  place(run: RunHistory): { session: string; invocationId: string };
}

/** A part of a log: the events of one run, and the run's name. */
interface Part {
  invocationId: string;
  resume?: string;
  stored: StoredEvent;
}

const keyOf = (session: SessionRef, run: Pick<RunHistory, 'invocationId' | 'resume'>) =>
  `${nameOf(session)} ${runKey(run)}`;

/** Finds the runs of a history: those in its logs, in its records, and in what its clients know. */
export function modelOf(history: History): Model {
  const sessions = new Map(history.sessions.map((session) => [nameOf(session), session]));
  const roots = rootsOf(history.sessions).filter(({ deleted }) => !deleted);
  const deletions = history.acts.filter(({ kind, outcome }) => kind === 'delete' && outcome !== 'refused');
  const runs = new Map<string, RunHistory>();
  const runFor = (session: SessionRef, invocationId: string, resume: string | undefined) => {
    const made: RunHistory = {
      ...{ session, invocationId, events: [], ends: [] },
      ...(resume !== undefined && { resume }),
    };
    const key = keyOf(session, made);
    const run = runs.get(key) ?? made;
    runs.set(key, run);
    return run;
  };
  for (const session of roots) {
    for (const { invocationId, resume, stored } of partsOf(session))
      runFor(session, invocationId, resume).events.push(stored);
  }
  for (const record of history.invocations) {
    if (isBesideRuns(sessions.get(nameOf(record)), record.invocationId)) continue;
    const named = new Set(record.ends.map(({ resume }) => resume));
    if (named.size === 0) named.add(undefined);
    for (const resume of named) {
      const run = runFor(record, record.invocationId, resume);
      run.ends = record.ends.filter((end) => end.resume === resume);
      if (record.cancelled !== undefined) run.cancelled = record.cancelled;
    }
  }
  const ofMessage = new Map<Message, RunHistory>();
  for (const message of history.messages) {
    const run = findRun(message, runs, runFor);
    if (!run) continue;
    run.message ??= message;
    ofMessage.set(message, run);
  }
  return {
    ...{ history, roots, runs: [...runs.values()] },
    session: (ref) => sessions.get(nameOf(ref)),
    isDeleted: (ref, message) =>
      sessions.get(nameOf(ref))?.deleted === true ||
      deletions.some(
        ({ session, doneAt = Number.POSITIVE_INFINITY }) =>
          doneAt >= (message?.sentAt ?? 0) && nameOf(session) === nameOf(ref),
      ),
    forgetsAcks: history.faults.some(
      ({ kind, target }) => kind === 'forgetAck' || (kind === 'restart' && target === 'nats'),
    ),
    runOf: (message) => ofMessage.get(message),
    place: ({ session, invocationId }) => ({ session: nameOf(session), invocationId }),
  };
}

/** Returns the run of a message: by the id that its client got, or by its text in the log. */
function findRun(
  message: Message,
  runs: ReadonlyMap<string, RunHistory>,
  runFor: (session: SessionRef, invocationId: string, resume: string | undefined) => RunHistory,
): RunHistory | undefined {
  const { session, invocationId, resume, text, refused } = message;
  if (refused) return undefined;
  if (invocationId !== undefined) return runFor(session, invocationId, resume);
  if (text === undefined) return undefined;
  return [...runs.values()].find(
    (run) => nameOf(run.session) === nameOf(session) && run.events.some((each) => says(each, text)),
  );
}

const says = ({ event }: StoredEvent, text: string) => event.author === 'user' && textOf(event) === text;

/**
 * Returns the events of a log with their runs. A message event names its run; the events that follow it in
 * the same invocation belong to this run.
 */
function partsOf(session: SessionHistory): Part[] {
  const current = new Map<string, string>();
  return session.events.flatMap((stored): Part[] => {
    const { invocationId, id, author } = stored.event;
    if (isAside(stored.event) || isRewind(stored.event) || isCopied(session, invocationId)) return [];
    const first = `${messageEventId({ invocationId }, session.sessionId)}/`;
    if (author === 'user' && id.startsWith(first)) current.set(invocationId, id.slice(first.length));
    const resume = current.get(invocationId);
    return [{ invocationId, stored, ...(resume !== undefined && { resume }) }];
  });
}

/** Tells whether the log has events of an invocation, and none of a run: a rewind, or events of the original. */
export function isBesideRuns(session: SessionHistory | undefined, invocationId: string): boolean {
  if (!session) return false;
  const own = ofInvocation(session.events, invocationId);
  const isBeside = own.every(({ event }) => isAside(event) || isRewind(event));
  return own.length > 0 && (isBeside || isCopied(session, invocationId));
}

/** Tells whether the events of an invocation in a forked session come from the original. */
export function isCopied({ copied }: SessionHistory, invocationId: string): boolean {
  return copied?.includes(invocationId) ?? false;
}

/**
 * Tells whether a run may have ended with its deleted session, and have begun again in a session that was made under
 * the same name. A message over NATS does not say which of the two it means, and NATS may forget that it was settled.
 */
export const isRevived = (model: Model, { session, message }: RunHistory): boolean =>
  model.forgetsAcks && message?.via === 'nats' && model.isDeleted(session, message);

import { type Act, type Found, type History, type Message, nameOf, type SessionHistory } from '../history.ts';
import { textOf } from '../log.ts';
import type { Model } from '../model.ts';

/**
 * Finds sessions that are gone although nobody deleted them, sessions of which a deletion left something, and
 * events of an old message in a new session of the same id.
 */
export function deletions(model: Model): Found[] {
  return [...vanished(model), ...model.history.acts.flatMap((act) => leftBy(model, act))];
}

function vanished({ history }: Model): Found[] {
  const deleted = new Set(
    history.acts.flatMap(({ kind, outcome, session }) =>
      kind === 'delete' && outcome !== 'refused' ? [nameOf(session)] : [],
    ),
  );
  return history.sessions
    .filter((session) => session.deleted && !deleted.has(nameOf(session)))
    .map((session) => ({ session: nameOf(session), what: 'it is gone, and nobody deleted it' }));
}

/** Finds what one deletion left. */
function leftBy({ history }: Model, act: Act): Found[] {
  const { acts, sessions, messages } = history;
  if (act.kind !== 'delete' || act.outcome !== 'done') return [];
  const session = nameOf(act.session);
  const stored = sessions.find((each) => nameOf(each) === session);
  if (!stored) return [];
  const isNew = acts.some(
    (other) => other.kind === 'create' && nameOf(other.session) === session && other.sentAt > act.sentAt,
  );
  if (isNew) return messages.flatMap((message) => oldMessage(stored, message, act));
  if (!stored.deleted) return [{ session, what: 'it was deleted, and is still there' }];
  const count = stored.events.length + stored.pending.length;
  return count === 0
    ? []
    : [{ session, what: `it was deleted, and ${count} events and calls of it are left` }];
}

/**
 * Finds an event of a message to a deleted session in the new session of the same id. A command of a plain
 * publisher names a session by its id alone: its run may begin in the new session.
 */
function oldMessage(stored: SessionHistory, message: Message, { session, sentAt }: Act): Found[] {
  const { id, text, invocationId, via, acceptedAt = sentAt } = message;
  if (acceptedAt >= sentAt || nameOf(message.session) !== nameOf(session)) return [];
  const found = stored.events.find(
    ({ event }) => event.invocationId === invocationId || (text !== undefined && textOf(event) === text),
  );
  if (!found || (via === 'nats' && textOf(found.event) === text)) return [];
  const what = `event ${found.seq} of message ${id} is in the new session of a deleted id`;
  return [{ session: nameOf(session), invocationId: found.event.invocationId, what }];
}

/**
 * Finds what is left when all work has ended: messages in streams, deliveries without an acknowledgement,
 * sessions that somebody holds, waiting runs, claims, jobs, keys and objects to which nothing leads.
 */
export function nothingLeft({ history }: Model): Found[] {
  const { streams, redis, objects } = history.rest;
  const { holders, waitingRuns, claims, jobs, orphanKeys } = redis;
  const left: [what: string, names: readonly string[]][] = [
    ['a run still holds', holders],
    ['a run still waits:', waitingRuns],
    ['a claim without a result is left:', claims],
    ['a job is not over:', jobs],
    ['nothing leads to the key', orphanKeys],
    ['nothing leads to the object', objects],
  ];
  return [
    ...streams.flatMap(({ name, messages, ackPending }): Found[] =>
      messages + ackPending === 0
        ? []
        : [
            {
              what: `stream ${name} has ${messages} messages, ${ackPending} deliveries are not acknowledged`,
            },
          ],
    ),
    ...left.flatMap(([what, names]) => names.map((name) => ({ what: `${what} ${name}` }))),
  ];
}

/**
 * Finds histories that prove nothing: no work, or less completed work than demanded. Messages whose runs the
 * traffic itself may end do not count.
 */
export function workDone(model: Model): Found[] {
  const { messages, leastShare } = model.history;
  if (messages.length === 0) return [{ what: 'no message was sent' }];
  const isStopped = stopsIn(model.history);
  const wanted = messages.filter((message) => isWanted(model, message) && !isStopped(message));
  // All tries at one message count as one.
  const tries = [...Map.groupBy(wanted, ({ id, repeats = id }) => repeats).values()];
  const isDone = (message: Message) => model.runOf(message)?.ends[0]?.status === 'completed';
  const completed = tries.filter((all) => all.some(isDone)).length;
  const share = completed / Math.max(1, tries.length);
  if (share >= leastShare) return [];
  const percent = (part: number) => `${(100 * part).toFixed(1)} %`;
  const what = `${completed} of ${tries.length} messages were completed (${percent(share)}), and ${percent(leastShare)} are demanded`;
  return [{ what }];
}

function isWanted(model: Model, message: Message): boolean {
  const { kind, whenBusy, deadlineMs, session, deadLetter } = message;
  if (kind === 'answer' || whenBusy === 'reject') return false;
  return deadlineMs === undefined && deadLetter === undefined && !model.isDeleted(session, message);
}

/**
 * Returns a function that tells whether a client tried to cancel the run of a message, by an act or by a later
 * message that interrupts.
 */
function stopsIn({ acts, messages }: History): (message: Message) => boolean {
  const cancelled = new Set(
    acts.flatMap(({ kind, invocationId = [] }) => (kind === 'cancel' ? invocationId : [])),
  );
  const interrupting = Map.groupBy(
    messages.filter(({ whenBusy }) => whenBusy === 'interrupt'),
    ({ session }) => nameOf(session),
  );
  return ({ id, session, invocationId = '', sentAt }) =>
    cancelled.has(invocationId) ||
    (interrupting.get(nameOf(session)) ?? []).some((other) => other.id !== id && other.sentAt >= sentAt);
}

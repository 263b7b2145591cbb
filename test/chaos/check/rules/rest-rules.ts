import { type Found, type History, type Message, nameOf } from '../history.ts';
import { textOf } from '../log.ts';
import type { Model } from '../model.ts';

/** Finds sessions of which a deletion left something, and events of an old message in a new session of the same id. */
export function staysDeleted(model: Model): Found[] {
  const { acts, sessions, messages } = model.history;
  return acts.flatMap((act): Found[] => {
    if (act.kind !== 'delete' || act.outcome !== 'done') return [];
    const name = nameOf(act.session);
    const stored = sessions.find((session) => nameOf(session) === name);
    const isNew = acts.some(
      ({ kind, session, sentAt }) => kind === 'create' && nameOf(session) === name && sentAt > act.sentAt,
    );
    if (!stored) return [];
    if (!isNew && !stored.deleted) return [{ session: name, what: 'it was deleted, and is still there' }];
    if (!isNew && stored.events.length + stored.pending.length > 0)
      return [{ session: name, what: `it was deleted, and ${stored.events.length} events of it are left` }];
    const old = messages.filter(
      (message) => nameOf(message.session) === name && (message.acceptedAt ?? act.sentAt) < act.sentAt,
    );
    return old.flatMap((message): Found[] => {
      const event = stored.events.find(
        (each) =>
          each.event.invocationId === message.invocationId ||
          (message.text !== undefined && textOf(each.event) === message.text),
      );
      if (!event) return [];
      const what = `event ${event.seq} of message ${message.id} is in the new session of a deleted id`;
      return [{ session: name, invocationId: event.event.invocationId, what }];
    });
  });
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
  const repeated = new Set(messages.map(({ repeats }) => repeats));
  const wanted = messages.filter((message) => !repeated.has(message.id) && isWanted(model, message));
  const completed = wanted.filter((message) => model.runOf(message)?.ends[0]?.status === 'completed').length;
  const share = completed / Math.max(1, wanted.length);
  if (share >= leastShare) return [];
  const percent = (part: number) => `${(100 * part).toFixed(1)} %`;
  const what = `${completed} of ${wanted.length} messages were completed (${percent(share)}), and ${percent(leastShare)} are demanded`;
  return [{ what }];
}

function isWanted(model: Model, message: Message): boolean {
  const { kind, whenBusy, deadlineMs, session } = message;
  if (
    kind === 'answer' ||
    whenBusy === 'reject' ||
    deadlineMs !== undefined ||
    message.deadLetter !== undefined
  )
    return false;
  return !model.isDeleted(session, message) && !isStopped(model.history, message);
}

/** Tells whether a client tried to cancel the run of a message, by an act or by a message that interrupts. */
function isStopped({ acts, messages }: History, { session, invocationId, sentAt }: Message): boolean {
  const isOne = (act: History['acts'][number]) => act.kind === 'cancel' && act.invocationId === invocationId;
  const interrupts = (other: Message) =>
    other.whenBusy === 'interrupt' && other.sentAt >= sentAt && nameOf(other.session) === nameOf(session);
  return acts.some(isOne) || messages.some(interrupts);
}

import { runKey } from '@agentmesh/agent/internal';
import { type Found, type Message, nameOf, type SessionHistory } from '../history.ts';
import { isAside } from '../log.ts';
import { isCopied, isRevived, type Model, type RunHistory } from '../model.ts';

/**
 * Finds runs of one session whose events mix: the events of a run form one block of the log. Events that are
 * committed beside runs may stand anywhere; a rewind is a block of its own. Child sessions belong to one call
 * each, so they have nothing to mix.
 */
export function oneAtATime(model: Model): Found[] {
  const runOf = new Map(model.runs.flatMap((run) => run.events.map((stored) => [stored, run] as const)));
  return model.roots.flatMap((session) => mixed(session, (stored) => runOf.get(stored)));
}

function mixed(
  session: SessionHistory,
  runOf: (stored: SessionHistory['events'][number]) => RunHistory | undefined,
): Found[] {
  const over = new Set<string>();
  let current: string | undefined;
  for (const stored of session.events) {
    const { event, seq } = stored;
    if (isAside(event) || isCopied(session, event.invocationId)) continue;
    const run = runOf(stored);
    const key = run ? runKey(run) : event.invocationId;
    if (key === current) continue;
    if (over.has(key)) {
      const what = `its event ${seq} comes after an event of ${current}, which began before it had ended`;
      return [{ session: nameOf(session), invocationId: event.invocationId, what }];
    }
    if (current !== undefined) over.add(current);
    current = key;
  }
  return [];
}

interface Begun {
  message: Message;
  run: RunHistory;
  seq: number;
}

/**
 * Finds runs in the wrong order. When a client knew that a message was accepted before another message to the
 * session was sent, the first one begins first; only a message that interrupts may go before earlier ones. An
 * update of a call over NATS is accepted in another queue than the runs, so it has no place in this order. A
 * message that was turned away since the session was busy never begins.
 */
export function inOrder(model: Model): Found[] {
  const begun = model.history.messages.flatMap((message): Begun[] => {
    const run = model.runOf(message);
    const seq = run?.events.find(({ event }) => event.author === 'user')?.seq;
    if (!run || seq === undefined || (message.kind === 'answer' && message.via === 'nats')) return [];
    return [{ message, run, seq }];
  });
  const sessions = Map.groupBy(begun, ({ run }) => nameOf(run.session));
  return [
    ...[...sessions.values()].flatMap((all) => overtaken(model, all)),
    ...begun.flatMap((each) => ranAnyway(model, each)),
  ];
}

function overtaken(model: Model, begun: readonly Begun[]): Found[] {
  return begun
    .filter(({ message }) => message.whenBusy !== 'interrupt')
    .flatMap((later): Found[] => {
      const first = begun.find(
        ({ message, run, seq }) =>
          !isRevived(model, run) &&
          (message.acceptedAt ?? Number.POSITIVE_INFINITY) < later.message.sentAt &&
          seq > later.seq,
      );
      if (!first) return [];
      const before = `message ${first.message.id} was accepted before message ${later.message.id} was sent`;
      return [{ ...model.place(first.run), what: `${before}, and began after it` }];
    });
}

function ranAnyway(model: Model, { message, run }: Begun): Found[] {
  if (message.whenBusy !== 'reject' || run.ends[0]?.code !== 'resource_exhausted') return [];
  return [
    {
      ...model.place(run),
      what: `message ${message.id} was turned away as the session was busy, and it ran`,
    },
  ];
}

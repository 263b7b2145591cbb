import type { StoredEvent } from '@agentmesh/agent/internal';
import type { ClientView, Found, Message } from '../history.ts';
import { isAside, textOf } from '../log.ts';
import type { Model, RunHistory } from '../model.ts';

/**
 * Finds clients that were not told each committed event of their run once and in order, and its end. A client
 * that left for good may lack the last events. No client may know an event that the log does not have: this
 * is what a failover must not take back.
 */
export function sawAllOnce(model: Model): Found[] {
  return model.history.messages.flatMap((message) => {
    const run = model.runOf(message);
    if (!run) return [];
    const { view } = message;
    const where = model.place(run);
    const who = `the client of message ${message.id}`;
    if (!view) return isUntold(message) ? [{ ...where, what: `${who} was never told anything` }] : [];
    if (!view.left && (!view.finished || view.ends.length === 0))
      return [{ ...where, what: `${who} (back ${view.reconnects} times) was never told the end` }];
    if (model.isDeleted(run.session, message)) return [];
    return sawLog(model, run, view).map((what) => ({ ...where, what: `${who} ${what}` }));
  });
}

/** Tells whether an HTTP client got an answer and no view: each of them listens. */
const isUntold = ({ via, acceptedAt }: Message) => via === 'http' && acceptedAt !== undefined;

function sawLog(model: Model, run: RunHistory, view: ClientView): string[] {
  const { seen, texts, reconnects } = view;
  const { must, may } = committed(model, run);
  const expected = must.slice(0, view.finished ? undefined : seen.length);
  const ids = expected.map(({ event }) => event.id);
  // Events that are committed beside the run, after its last one, reach only clients that are late.
  const extra = seen.slice(ids.length);
  const isExtra = extra.every((id, at) => may[at]?.event.id === id);
  const at = ids.findIndex((id, index) => seen[index] !== id);
  if (at === -1 && seen.length >= ids.length && isExtra) return wrongText(expected, texts);
  const place = at === -1 ? ids.length : at;
  const heard = seen[place];
  const why =
    heard !== undefined && ![...must, ...may].some(({ event }) => event.id === heard)
      ? `, which is not in the log`
      : '';
  const saw = `saw ${seen.length} events (back ${reconnects} times), and the log has ${must.length}`;
  return [`${saw}; event ${place + 1} is ${heard ?? 'missing'}${why}, not ${ids[place] ?? 'absent'}`];
}

/**
 * Returns the events that a client of the run is told, and the events committed beside it after its end,
 * which a client may be told.
 */
function committed(model: Model, run: RunHistory): { must: StoredEvent[]; may: StoredEvent[] } {
  const log = model.session(run.session)?.events ?? [];
  const [first] = run.events;
  const last = run.events.at(-1);
  if (!first || !last) return { must: [], may: [] };
  const own = new Set(run.events);
  const all = log.filter(
    (stored) =>
      stored.event.author !== 'user' &&
      (own.has(stored) ||
        (stored.event.invocationId === run.invocationId && isAside(stored.event) && stored.seq > first.seq)),
  );
  return { must: all.filter(({ seq }) => seq <= last.seq), may: all.filter(({ seq }) => seq > last.seq) };
}

function wrongText(events: readonly StoredEvent[], texts: readonly string[]): string[] {
  const wrong = events.find(({ event }, at) => texts[at] !== textOf(event));
  if (!wrong) return [];
  const told = JSON.stringify(texts[events.indexOf(wrong)] ?? '');
  return [
    `was told ${told} as event ${wrong.event.id}, and the log says ${JSON.stringify(textOf(wrong.event))}`,
  ];
}

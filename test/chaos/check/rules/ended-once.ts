import type { StoredEvent } from '@agentmesh/agent/internal';
import {
  type Ending,
  type Found,
  type History,
  type Message,
  nameOf,
  type SessionHistory,
} from '../history.ts';
import { callsOf, isAside, isEnd, textOf } from '../log.ts';
import { isRevived, type Model, type RunHistory } from '../model.ts';
import { explainedEnd } from './explained-end.ts';

/**
 * Finds runs that did not end exactly once: work that is not settled, accepted messages without a run, runs
 * without one recorded end, logs whose last word is not this end, and clients or watchers that were told
 * another end. A refused message must leave nothing, and a failure must have a reason.
 */
export function endedOnce(model: Model): Found[] {
  const { history, runs } = model;
  const children = history.sessions.filter(({ callId }) => callId !== undefined);
  return [
    ...unsettled(history),
    ...history.messages.flatMap((message) => lost(model, message)),
    ...runs.flatMap((run) => (model.isDeleted(run.session, run.message) ? [] : endOf(model, run))),
    ...told(model),
    ...children.flatMap(lastWordsOfCall),
  ];
}

/** Finds work that has not ended in time. */
export const unsettled = (history: History): Found[] =>
  history.unsettled.map((what) => ({ what: `not settled: ${what}` }));

function lost(model: Model, message: Message): Found[] {
  const { session, text, acceptedAt, refused } = message;
  if (model.isDeleted(session, message)) return [];
  const log = model.session(session)?.events ?? [];
  const where = { session: nameOf(session), what: `message ${message.id}` };
  if (refused && text !== undefined && log.some(({ event }) => textOf(event) === text))
    return [{ ...where, what: `${where.what} was refused, and is in the log` }];
  if (acceptedAt === undefined || message.kind === 'answer' || model.runOf(message)) return [];
  return [{ ...where, what: `${where.what} was accepted, and no run of it is known` }];
}

function endOf(model: Model, run: RunHistory): Found[] {
  const where = model.place(run);
  const { ends, events } = run;
  const [end, another] = ends;
  // A client knows the id of a run only when the run was accepted.
  if (!end && events.length === 0)
    return run.message
      ? [{ ...where, what: 'it was accepted, and there is neither an end nor an event of it' }]
      : [];
  if (!end) return [{ ...where, what: 'it has not ended' }];
  if (another)
    return [{ ...where, what: `${ends.length} ends of it are recorded: ${ends.map(name).join(', ')}` }];
  const words = lastWords(events, where);
  if (words.length > 0) return words;
  return [...agreement(run, end, where), ...explainedEnd(model, run, end)];
}

/** Compares the recorded end with the last words in the log. */
function agreement({ events }: RunHistory, end: Ending, where: Found | Omit<Found, 'what'>): Found[] {
  const last = events.at(-1)?.event;
  if (!last) {
    if (end.status === 'failed') return [];
    return [{ ...where, what: 'it is recorded as completed, and nothing of it is in the log' }];
  }
  const code = events.findLast(({ event }) => event.errorCode !== undefined)?.event.errorCode;
  if (end.status === 'failed') {
    if (last.errorCode === end.code) return [];
    return [{ ...where, what: `it is recorded as ${name(end)}, and its last event is ${last.id}` }];
  }
  if (code !== undefined)
    return [{ ...where, what: `it is recorded as completed, and its log has the error ${code}` }];
  if (events.some(({ event }) => isEnd(event)) || waits(events)) return [];
  return [{ ...where, what: 'it ended without a last word' }];
}

/** Tells whether a run ends without a word because it asks a person, or because its last call goes on outside. */
function waits(events: readonly StoredEvent[]): boolean {
  const asks = callsOf(events).some(({ isLong, name: tool }) => isLong && tool.startsWith('adk_request_'));
  return asks || callsOf(events.slice(-1)).some(({ isLong }) => isLong);
}

/** Finds ends that differ from the recorded one, in what clients and watchers of the runs were told. */
function told(model: Model): Found[] {
  const { messages, news } = model.history;
  const ofRun = Map.groupBy(messages, (message) => model.runOf(message));
  const ofInvocation = Map.groupBy(news, ({ invocationId }) => invocationId);
  return model.runs.flatMap((run): Found[] => {
    const ends = [
      ...(ofRun.get(run) ?? []).flatMap(({ id, view }) =>
        (view?.ends ?? []).map((end) => ({ end, to: `the client of ${id}` })),
      ),
      ...(ofInvocation.get(run.invocationId) ?? [])
        .filter(({ resume }) => resume === run.resume)
        .map((end) => ({ end, to: 'a watcher' })),
    ];
    const expected = run.ends[0] ?? ends[0]?.end;
    const wrong = ends.find(
      ({ end }) =>
        expected && name(end) !== name(expected) && !(end.code === 'not_found' && isRevived(model, run)),
    );
    if (!expected || !wrong) return [];
    const known = run.ends[0] ? 'its record' : ends[0]?.to;
    const what = `${wrong.to} was told ${name(wrong.end)}, and ${known} says ${name(expected)}`;
    return [{ ...model.place(run), what }];
  });
}

const name = ({ status, code }: Ending) => (code === undefined ? status : `${status} (${code})`);

function lastWordsOfCall(session: SessionHistory): Found[] {
  const [first] = session.events;
  const runs = Map.groupBy(
    session.events.filter(({ event }) => !isAside(event)),
    ({ event }) => event.invocationId,
  );
  if (!first) return [];
  return [...runs].flatMap(([invocationId, events]) =>
    lastWords(events, { session: nameOf(session), invocationId }),
  );
}

/** Finds a second last word on a branch, and an event after a last word. */
function lastWords(events: readonly StoredEvent[], where: Omit<Found, 'what'>): Found[] {
  const branches = Map.groupBy(events, ({ event }) => event.branch ?? '');
  return [...branches].flatMap(([branch, said]): Found[] => {
    const ends = said.filter(({ event }) => isEnd(event));
    const on = branch === '' ? '' : ` on branch ${branch}`;
    if (ends.length > 1) {
      const seqs = ends.map(({ seq }) => seq).join(', ');
      return [{ ...where, what: `it ended ${ends.length} times${on}: events ${seqs}` }];
    }
    const after = said.at(-1);
    if (ends.length === 0 || after === ends[0]) return [];
    return [{ ...where, what: `event ${after?.seq} comes after the last word, ${ends[0]?.seq}${on}` }];
  });
}

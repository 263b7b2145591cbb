import { createEvent } from '@agentmesh/agent';
import type { StoredEvent } from '@agentmesh/agent/internal';
import type { Random } from '@agentmesh/testing';
import { counterKey, type History, type Message, nameOf, type SessionHistory } from './history.ts';
import { isAside, isRewind } from './log.ts';
import { isCopied } from './model.ts';
import { said } from './parts.fixture.ts';
import { renumber } from './spoil-tools.fixture.ts';

/** Spoils something at random. Returns false when the history has nothing of the kind. */
export type RandomSpoil = (history: History, random: Random) => boolean;

/** A place in a log, of an event that a run has in its own session. */
interface Spot {
  session: SessionHistory;
  stored: StoredEvent;
}

function spots(history: History): Spot[] {
  return history.sessions
    .filter(({ callId, deleted }) => callId === undefined && !deleted)
    .flatMap((session) =>
      session.events
        .filter(({ event }) => !isCopied(session, event.invocationId) && !isAside(event) && !isRewind(event))
        .map((stored) => ({ session, stored })),
    );
}

/** Picks one of some things, and spoils it. */
function onOne<T>(
  pick: (history: History) => readonly T[],
  spoil: (one: T, history: History, random: Random) => void,
) {
  return (history: History, random: Random) => {
    const all = pick(history);
    if (all.length === 0) return false;
    spoil(random.pick(all), history, random);
    return true;
  };
}

const listening = ({ messages }: History) =>
  messages.filter(({ view }) => view && !view.left && view.seen.length > 0);
const alive = (history: History) =>
  listening(history).filter(({ session }) => {
    const stored = history.sessions.find((each) => nameOf(each) === nameOf(session));
    return (
      stored &&
      !stored.deleted &&
      !history.acts.some(({ kind, ...act }) => kind === 'delete' && nameOf(act.session) === nameOf(session))
    );
  });

const remove = <T>(all: T[], one: T) => all.splice(all.indexOf(one), 1);

export const randomSpoils: Record<string, RandomSpoil> = {
  'an event of a run is dropped': onOne(
    // A run that failed before it began may have no event at all.
    (history) => spots(history).filter(({ stored: { event } }) => event.errorCode !== 'deadline_exceeded'),
    ({ session, stored }) => {
      remove(session.events, stored);
      renumber(session);
    },
  ),
  'an event of a run is repeated': onOne(spots, ({ session, stored }) => {
    const again = structuredClone(stored.event);
    session.events.splice(session.events.indexOf(stored) + 1, 0, {
      seq: 0,
      event: { ...again, id: 'again' },
    });
    renumber(session);
  }),
  'two events of different runs change places': onOne(
    (history) =>
      spots(history).filter(({ session, stored }) => {
        const next = session.events[session.events.indexOf(stored) + 1];
        const isOther = next && next.event.invocationId !== stored.event.invocationId;
        return isOther && hasMore(session, stored) && !isAside(next.event) && !isRewind(next.event);
      }),
    ({ session, stored }) => {
      const at = session.events.indexOf(stored);
      const [one, two] = session.events.splice(at, 2);
      if (one && two) session.events.splice(at, 0, two, one);
      renumber(session);
    },
  ),
  'a run says other words': onOne(
    (history) =>
      spots(history).filter(({ stored: { event } }) => event.content?.parts?.[0]?.text !== undefined),
    ({ stored }) => {
      stored.event.content = said('model', 'other words');
    },
  ),
  'the counter is raised from an old value': onOne(
    (history) => spots(history).filter(({ stored }) => counterKey in stored.event.actions.stateDelta),
    ({ stored }) => {
      const { stateDelta } = stored.event.actions;
      stateDelta[counterKey] = Number(stateDelta[counterKey]) - 1;
    },
  ),
  'a log begins with an event from nowhere': onOne(
    (history) =>
      history.sessions.filter(({ callId, deleted, forkOf }) => callId === undefined && !deleted && !forkOf),
    (session) => {
      const event = createEvent({ id: 'nowhere', invocationId: 'e-nowhere', author: 'front' });
      session.events.unshift({ seq: 0, event });
      renumber(session);
    },
  ),
  'a client misses an event': onOne(alive, ({ view }, _history, random) => {
    if (view) view.seen.splice(random.integer(0, view.seen.length - 1), 1);
  }),
  'a client sees an event twice': onOne(alive, ({ view }) => void view?.seen.push(view.seen[0] ?? '')),
  'a client is told other words': onOne(alive, ({ view }) => void view?.texts.splice(0, 1, 'other words')),
  'a client is never told the end': onOne(
    listening,
    ({ view }) => view && Object.assign(view, { finished: false }),
  ),
  'a client is told a second end': onOne(
    listening,
    ({ view }) => void view?.ends.push({ status: 'failed', code: 'aborted', at: 0 }),
  ),
  'a record has no end': onOne(
    recordsThatCount,
    (record) => void Object.assign(record, { status: 'running', ends: [] }),
  ),
  'a record has another end': onOne(recordsThatCount, (record) => {
    const [end] = record.ends;
    if (end)
      Object.assign(
        end,
        end.status === 'failed' ? { status: 'completed' } : { status: 'failed', code: 'aborted' },
      );
  }),
  'an accepted message is lost': onOne(alive, (message, history) => lose(message, history)),
  'an effect of a remote tool is repeated': onOne(
    ({ executions }) =>
      executions.filter(({ tool, endedAt }) => tool === 'add_remote' && endedAt !== undefined),
    (execution, { executions }) => void executions.push({ ...execution, beganAt: execution.beganAt + 1_000 }),
  ),
  'an effect belongs to no call': onOne(
    ({ executions }) => executions,
    (execution, { executions }) =>
      void executions.push({ ...execution, callId: 'c-none', invocationId: 'e-none' }),
  ),
  'the effects of a call are missing': onOne(
    (history) => {
      const logged = new Set(spots(history).flatMap(({ stored }) => callIds(stored)));
      return history.executions.filter(({ callId }) => logged.has(callId));
    },
    ({ callId, tool }, history) => {
      history.executions = history.executions.filter((each) => each.callId !== callId);
      history.countingTools = [tool];
    },
  ),
  'a pending call is forgotten': onOne(
    ({ sessions }) => sessions.filter(({ pending }) => pending.length > 0),
    ({ pending }) => void pending.pop(),
  ),
  'a deleted session comes back': onOne(
    ({ sessions }) => sessions.filter(({ deleted }) => deleted),
    (session) => delete session.deleted,
  ),
  'a session holds another value': onOne(
    ({ sessions }) => sessions.filter(({ deleted, callId }) => !deleted && callId === undefined),
    ({ state }) => void Object.assign(state, { stray: 1 }),
  ),
};

/** Tells whether the run of an event has another event before it. */
const hasMore = ({ events }: SessionHistory, stored: StoredEvent) =>
  events.some((each) => each !== stored && each.event.invocationId === stored.event.invocationId);

const callIds = ({ event }: StoredEvent) =>
  event.content?.parts?.flatMap(({ functionResponse }) => functionResponse?.id ?? []) ?? [];

/** Returns the records of runs with events. A run that never began has no word that could contradict its record. */
function recordsThatCount({ invocations, sessions }: History) {
  const begun = new Set(
    sessions.flatMap(({ events }) =>
      events.flatMap(({ event }) => (event.author === 'front' ? [event.invocationId] : [])),
    ),
  );
  return invocations.filter(({ invocationId }) => begun.has(invocationId));
}

/** Takes all traces of a run out of a history, except its client's knowledge that it was accepted. */
function lose({ invocationId, session: { sessionId } }: Message, history: History): void {
  const session = history.sessions.find((each) => each.sessionId === sessionId);
  if (session) session.events = session.events.filter(({ event }) => event.invocationId !== invocationId);
  if (session) renumber(session);
  history.invocations = history.invocations.filter((record) => record.invocationId !== invocationId);
  history.news = history.news.filter((news) => news.invocationId !== invocationId);
}

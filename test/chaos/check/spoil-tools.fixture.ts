import type { Event } from '@agentmesh/protocol';
import type { Sent } from './builder.fixture.ts';
import type { ClientView, InvocationHistory, Message, SessionHistory } from './history.ts';
import { textOf } from './log.ts';
import { said } from './parts.fixture.ts';
import type { Rule } from './rules.ts';
import type { Story } from './story.fixture.ts';

/** One way to break a correct history: its name, the rule that must report it, and the change. */
export type Spoil = readonly [name: string, rule: Rule, spoil: (story: Story) => void];

/** Numbers the events of a log anew. */
export function renumber(session: SessionHistory): void {
  for (const [at, stored] of session.events.entries()) stored.seq = at + 1;
}

/** Returns the events of a run in its session. */
export const eventsOf = (session: SessionHistory, { invocationId }: Sent) =>
  session.events.filter(({ event }) => event.invocationId === invocationId);

/** Returns an event of a run, by its place in the run. */
export function eventAt(session: SessionHistory, run: Sent, at: number): Event {
  const stored = eventsOf(session, run).at(at);
  if (!stored) throw new Error(`${run.id} has no event ${at}`);
  return stored.event;
}

export function viewOf({ view }: Message): ClientView {
  if (!view) throw new Error('nobody listens to the message');
  return view;
}

export function recordOf({ history }: Story, { invocationId }: Sent): InvocationHistory {
  const record = history.invocations.find((each) => each.invocationId === invocationId);
  if (!record) throw new Error(`invocation ${invocationId} has no record`);
  return record;
}

/** Takes the events that match out of a log. */
export function drop(session: SessionHistory, matches: (event: Event) => boolean): void {
  session.events = session.events.filter(({ event }) => !matches(event));
  renumber(session);
}

/** Puts an event behind another one of the log. */
export function insertAfter(session: SessionHistory, before: Event, event: Event): void {
  const at = session.events.findIndex((stored) => stored.event === before);
  session.events.splice(at + 1, 0, { seq: 0, event });
  renumber(session);
}

/** Changes the words of an event, in the log and for its client. */
export function reword(session: SessionHistory, run: Sent, at: number, text: string): void {
  const event = eventAt(session, run, at);
  event.content = said('model', text);
  const view = viewOf(run);
  view.texts[view.seen.indexOf(event.id)] = text;
}

/** Commits a further event of a run, which its client sees. */
export function commitMore(session: SessionHistory, run: Sent, event: Event): void {
  insertAfter(session, eventAt(session, run, -1), { ...event, invocationId: run.invocationId });
  const view = viewOf(run);
  view.seen.push(event.id);
  view.texts.push(textOf(event));
}

export const copyOf = (event: Event, id: string, more: Partial<Event> = {}): Event => ({
  ...structuredClone(event),
  id,
  ...more,
});

/** Swaps two neighbouring events of a log. */
export function swap(session: SessionHistory, at: number): void {
  const [one, two] = session.events.splice(at, 2);
  if (one && two) session.events.splice(at, 0, two, one);
  renumber(session);
}

export function sessionOf(sessions: readonly SessionHistory[], sessionId: string): SessionHistory {
  const session = sessions.find((each) => each.sessionId === sessionId);
  if (!session) throw new Error(`there is no session ${sessionId}`);
  return session;
}

/** Makes a failure of the completed run of a program: in the log, in its record, and in the news. */
export function failWith(story: Story, run: keyof Story['runs'], code: string): void {
  const { main, runs, history } = story;
  const sent = runs[run];
  const word = eventAt(main, sent, -1);
  Object.assign(word, { errorCode: code, errorMessage: code });
  delete word.content;
  const failed = { status: 'failed', code } as const;
  Object.assign(recordOf(story, sent), { status: 'failed', ends: [failed] });
  for (const end of history.news) if (end.invocationId === sent.invocationId) Object.assign(end, failed);
}

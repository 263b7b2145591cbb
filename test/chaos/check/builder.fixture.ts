import { createEvent, createEventActions } from '@agentmesh/agent';
import { failureEventId, messageEventId } from '@agentmesh/agent/internal';
import type { Event, SessionRef } from '@agentmesh/protocol';
import {
  type Act,
  counterKey,
  type Ending,
  type History,
  type Message,
  nameOf,
  type SessionHistory,
  type ToldEnd,
} from './history.ts';
import { textOf } from './log.ts';
import { calls, emptyView, responds, said } from './parts.fixture.ts';

const user = { appName: 'shop', userId: 'ann' };

/** A message that was accepted, with the run that it begins. */
export type Sent = Message & { invocationId: string; text: string };

/** The ways in which a run of the builder works. */
export type Work = 'chat' | 'local' | 'remote' | 'nested' | 'fan' | 'ticket' | 'job' | 'confirm';

type Options = Partial<Pick<Message, 'via' | 'whenBusy' | 'stateDelta' | 'deadlineMs' | 'counts'>>;

/**
 * Builds correct histories, step by step, as a correct mesh would make them. Its clock is the order of the
 * calls: each step takes one ms.
 */
export class HistoryBuilder {
  readonly history: History = {
    ...{ messages: [], acts: [], news: [], faults: [], sessions: [], invocations: [], executions: [] },
    lives: ['front/1#1', 'tool/1#1', 'tool/2#1'].map((life) => ({
      ...{ replica: life.split('#')[0] ?? life, life, startedAt: 0, pauses: [], cutOffs: [], unaware: [] },
    })),
    countingTools: ['add_local', 'add_remote'],
    onceTools: ['add_remote'],
    rest: {
      streams: [{ name: 'RUNS', messages: 0, ackPending: 0 }],
      redis: { holders: [], waitingRuns: [], claims: [], jobs: [], orphanKeys: [] },
      deadLetters: [],
      objects: [],
    },
    unsettled: [],
    leastShare: 0.9,
    deadlineSlackMs: 3_000,
  };
  #time = 0;
  #ids = 0;

  tick(): number {
    this.#time += 1;
    return this.#time;
  }

  #id(prefix: string): string {
    this.#ids += 1;
    return `${prefix}-${this.#ids}`;
  }

  session(sessionId = this.#id('s'), more: Partial<SessionHistory> = {}): SessionHistory {
    const session = { ...user, sessionId, events: [], state: {}, initialState: {}, pending: [], ...more };
    this.history.sessions.push(session);
    return session;
  }

  /** Sends a message that is accepted. */
  send(session: SessionRef, op: string, more: Options = {}): Sent {
    const id = this.#id('m');
    const text = `op:${op}:${id}`;
    const { appName, userId, sessionId } = session;
    const message: Sent = {
      ...{ id, op, text, via: 'http', kind: 'message', whenBusy: 'enqueue' },
      ...{ session: { appName, userId, sessionId }, invocationId: this.#id('e'), sentAt: this.tick() },
      ...{
        acceptedAt: this.tick(),
        expected: [`did ${text}`, `opened ${text}`, `left ${text}`, `right ${text}`],
      },
      ...more,
    };
    if (message.via === 'http') message.view = emptyView();
    this.history.messages.push(message);
    return message;
  }

  /** Sends a message, and does its work at once. */
  say(session: SessionHistory, op: Work, more: Options = {}): Sent {
    const counts = op === 'local' || op === 'fan' ? 1 : 0;
    const message = this.send(session, op, { counts, ...more });
    this.work(session, message);
    return message;
  }

  /** Begins the run of a message. */
  begin(session: SessionHistory, message: Sent): void {
    const { stateDelta = {}, text } = message;
    const id = messageEventId(message, session.sessionId);
    this.commit(session, message, { id, author: 'user', content: said('user', text) }, stateDelta);
  }

  /** Does the run of a message to its end. */
  work(session: SessionHistory, message: Sent): void {
    this.begin(session, message);
    const steps: Record<string, () => void> = {
      local: () => this.call(session, message, 'add_local'),
      remote: () => this.call(session, message, 'add_remote'),
      nested: () => this.#ask(session, message),
      fan: () => this.#fan(session, message),
      ticket: () => this.open(session, message, 'ticket'),
      job: () => this.open(session, message, 'job'),
      confirm: () => this.#question(session, message),
    };
    steps[message.op]?.();
    if (message.op !== 'fan' && message.op !== 'confirm') this.speak(session, message, `did ${message.text}`);
    this.end(message, { status: 'completed' });
  }

  speak(session: SessionHistory, message: Sent, text: string, more: Partial<Event> = {}): void {
    this.commit(session, message, { content: said('model', text), ...more });
  }

  /** Calls a counting tool. Returns the id of the call. */
  call(session: SessionHistory, message: Sent, tool: string, more: Partial<Event> = {}): string {
    const id = this.#id('c');
    this.commit(session, message, { content: calls(id, tool), ...more });
    const life = tool === 'add_local' ? 'front/1#1' : 'tool/1#1';
    const [replica = life] = life.split('#');
    const { invocationId } = message;
    const execution = { tool, callId: id, invocationId, replica, life, beganAt: this.tick() };
    this.history.executions.push({ ...execution, endedAt: this.tick() });
    const count = Number(session.state[counterKey] ?? 0) + 1;
    const delta = tool === 'add_local' ? { [counterKey]: count } : { [`user:last_${tool}`]: id };
    this.commit(session, message, { content: responds(id, tool, { counted: id }), ...more }, delta);
    return id;
  }

  #ask(session: SessionHistory, message: Sent): void {
    const id = this.#id('c');
    this.commit(session, message, { content: calls(id, 'middle') });
    const child = this.session(id, { callId: id });
    delete child.initialState;
    this.commit(child, message, { author: 'user', content: said('user', 'please') }, {}, []);
    this.call(child, { ...message, view: emptyView() }, 'add_remote');
    this.commit(child, message, { content: said('model', 'done') }, {}, []);
    this.commit(session, message, { content: responds(id, 'middle', { result: 'done' }) });
  }

  #fan(session: SessionHistory, message: Sent): void {
    this.call(session, message, 'add_local', { branch: 'fan.left' });
    this.speak(session, message, `left ${message.text}`, { branch: 'fan.left' });
    this.speak(session, message, `right ${message.text}`, { branch: 'fan.right' });
  }

  /** Opens a ticket, or begins a job that goes on after its run. Returns the id of the call. */
  open(session: SessionHistory, message: Sent, kind: 'ticket' | 'job'): string {
    const id = this.#id(kind);
    this.commit(session, message, { content: calls(id, kind), longRunningToolIds: [id] });
    this.commit(session, message, { content: responds(id, kind, { status: 'pending' }) });
    session.pending.push({
      callId: id,
      kind: 'result',
      ...(kind === 'job' ? { hasJob: true } : { deadline: 9e15 }),
    });
    return id;
  }

  #question(session: SessionHistory, message: Sent): void {
    const [call, id] = [this.#id('c'), this.#id('q')];
    this.commit(session, message, { content: calls(call, 'add_confirmed') });
    const content = calls(id, 'adk_request_confirmation', { originalFunctionCall: { id: call } });
    this.commit(session, message, { content, longRunningToolIds: [id] });
    session.pending.push({ callId: id, kind: 'confirmation' });
  }

  /** Commits progress or the outcome of a job beside the runs, in the invocation of its call. */
  aside(session: SessionHistory, callId: string, isLast: boolean): void {
    const asking = session.events.find(({ event }) => event.longRunningToolIds?.includes(callId))?.event;
    const id = isLast ? `${callId}/outcome` : `${callId}/progress/${this.tick()}`;
    const content = responds(callId, 'job', { isLast });
    for (const { functionResponse } of content.parts)
      if (functionResponse) functionResponse.willContinue = !isLast;
    this.#append(session, { id, invocationId: asking?.invocationId ?? '', author: 'front', content }, {});
    if (isLast) this.#close(session, callId);
  }

  /** Answers a pending call; the answer begins a run. Calls of tools that waited for it get their responses. */
  answer(
    session: SessionHistory,
    callId: string,
    via: 'http' | 'nats',
    response: unknown = { ok: true },
  ): Sent {
    const message = this.send(session, 'answer', { via });
    Object.assign(message, { kind: 'answer', answers: [{ callId, response }] });
    const content = responds(callId, 'answered', response as Record<string, unknown>);
    const id = messageEventId(message, session.sessionId);
    this.commit(session, message, { id, author: 'user', content });
    this.#close(session, callId);
    delete (message as Message).text;
    this.speak(session, message, 'thanks');
    message.expected = ['thanks'];
    this.end(message, { status: 'completed' });
    if (via === 'nats') delete (message as Message).invocationId;
    return message;
  }

  #close(session: SessionHistory, callId: string): void {
    session.pending = session.pending.filter((call) => call.callId !== callId);
  }

  /** Fails the run of a message, with an error event if it has begun, and closes its open calls. */
  fail(session: SessionHistory, message: Sent, code: string): void {
    const own = session.events.filter(({ event }) => event.invocationId === message.invocationId);
    const open = own.flatMap(({ event }) => event.longRunningToolIds ?? []);
    const actions = createEventActions({ closedCalls: open });
    const failure = { id: failureEventId(message), errorCode: code, errorMessage: code };
    if (own.length > 0) this.commit(session, message, { ...failure, ...(open.length > 0 && { actions }) });
    for (const id of open) this.#close(session, id);
    this.end(message, { status: 'failed', code });
  }

  act(kind: Act['kind'], session: SessionRef, more: Partial<Act> = {}): Act {
    const { appName, userId, sessionId } = session;
    const times = { sentAt: this.tick(), doneAt: this.tick() };
    const act: Act = { kind, session: { appName, userId, sessionId }, ...times, outcome: 'done', ...more };
    this.history.acts.push(act);
    return act;
  }

  /** Records the end of a run, and tells it to its client and to the watchers. */
  end(message: Sent, ending: Ending): void {
    const { session, invocationId, view } = message;
    const { status } = ending;
    this.history.invocations.push({ ...session, invocationId, status, ends: [ending] });
    const told: ToldEnd = { ...ending, at: this.tick() };
    this.history.news.push({ ...told, invocationId });
    if (!view) return;
    Object.assign(view, { finished: true, ends: [told] });
    view.connections = [{ at: message.acceptedAt ?? 0, seen: [...view.seen], ended: true }];
  }

  /** Commits an event of a run. Its client sees it unless a user said it. */
  commit(
    session: SessionHistory,
    message: Sent,
    event: Partial<Event>,
    delta: Record<string, unknown> = {},
    clients = [message.view],
  ): void {
    const { invocationId } = message;
    const stored = this.#append(
      session,
      { id: this.#id('v'), author: 'front', ...event, invocationId },
      delta,
    );
    if (event.author === 'user') return;
    for (const view of clients) {
      view?.seen.push(stored.id);
      view?.texts.push(textOf(stored));
    }
  }

  #append(
    session: SessionHistory,
    fields: Partial<Event> & { id: string },
    delta: Record<string, unknown>,
  ): Event {
    const event = createEvent({ invocationId: '', author: 'front', ...fields });
    if (Object.keys(delta).length > 0)
      event.actions = createEventActions({ ...event.actions, stateDelta: delta });
    session.events.push({ seq: session.events.length + 1, event });
    const shared = Object.entries(delta).filter(([key]) => key.startsWith('user:'));
    for (const each of this.history.sessions) Object.assign(each.state, Object.fromEntries(shared));
    Object.assign(session.state, delta);
    this.tick();
    return event;
  }

  /** Copies a session. */
  fork(session: SessionHistory): SessionHistory {
    const copy = this.session(undefined, { forkOf: session, initialState: { ...session.initialState } });
    copy.events = structuredClone(session.events);
    copy.copied = session.events.map(({ event }) => event.invocationId);
    copy.state = { ...session.state };
    this.act('fork', session, { forkId: copy.sessionId });
    return copy;
  }

  /** Deletes a session. Its runs and its records are gone. */
  remove(session: SessionHistory): void {
    this.act('delete', session);
    Object.assign(session, { events: [], state: {}, pending: [], deleted: true });
    const { invocations } = this.history;
    this.history.invocations = invocations.filter((each) => nameOf(each) !== nameOf(session));
  }
}

import { HistoryBuilder, type Sent } from './builder.fixture.ts';
import type { History, Message, SessionHistory } from './history.ts';
import { calls, responds, said } from './parts.fixture.ts';

/** A rich correct history, with names for the parts that a test spoils. */
export interface Story {
  builder: HistoryBuilder;
  history: History;
  /** A session with most kinds of runs. */
  main: SessionHistory;
  /** A session that was deleted, and its message. */
  gone: SessionHistory;
  /** A session under the id of a deleted one, and the message to the deleted one. */
  renewed: SessionHistory;
  fork: SessionHistory;
  runs: Record<
    'chat' | 'next' | 'local' | 'lastLocal' | 'remote' | 'nested' | 'change' | 'nats' | 'old',
    Sent
  > &
    Record<'ticketRun' | 'cancelled' | 'turnedAway' | 'waiting' | 'first' | 'second', Sent>;
  answer: Message;
  /** The ids of a ticket with an answer, of one that still waits, and of a job that goes on. */
  calls: Record<'ticket' | 'openTicket' | 'job' | 'closed', string>;
}

/** Tells the story of some sessions: all kinds of runs, acts and answers. Nothing in it breaks a rule. */
export function tellStory(): Story {
  const builder = new HistoryBuilder();
  const { history } = builder;
  const main = builder.session('main');
  const chat = builder.say(main, 'chat');
  const next = builder.say(main, 'chat');
  const local = builder.say(main, 'local');
  const remote = builder.say(main, 'remote');
  const change = builder.say(main, 'chat', { stateDelta: { mood: 'good' } });
  const nats = builder.say(main, 'chat', { via: 'nats' });
  const { first, second } = sendTwo(builder, main);
  const ticketRun = builder.say(main, 'ticket');
  const ticket = lastPending(main);
  builder.say(main, 'local');
  const answer = builder.answer(main, ticket, 'nats');
  lateAnswers(builder, main, ticket);
  const lastLocal = builder.say(main, 'local');
  builder.say(main, 'ticket');
  const openTicket = lastPending(main);

  const work = builder.session('work');
  const nested = builder.say(work, 'nested');
  builder.say(work, 'fan');
  const job = doJobs(builder, work);
  const { turnedAway, waiting, cancelled, closed } = stopRuns(builder, work);
  builder.say(work, 'confirm');
  builder.answer(work, lastPending(work), 'http', { confirmed: true });
  rewind(builder, work);
  leaveAndReturn(builder, work);
  giveUp(builder, work);

  const gone = builder.session('gone');
  builder.say(gone, 'chat');
  builder.remove(gone);
  const { renewed, old } = renew(builder);
  trySeveralTimes(builder);
  const fork = builder.fork(main);
  builder.say(fork, 'local');
  const runs = { chat, next, local, lastLocal, remote, nested, change, nats, old };
  return {
    ...{ builder, history, main, gone, renewed, fork, answer },
    runs: { ...runs, ticketRun, cancelled, turnedAway, waiting, first, second },
    calls: { ticket, openTicket, job, closed },
  };
}

const lastPending = (session: SessionHistory) => session.pending.at(-1)?.callId ?? '';

/** Sends two messages before the first run begins. */
function sendTwo(builder: HistoryBuilder, session: SessionHistory) {
  const first = builder.send(session, 'chat');
  const second = builder.send(session, 'chat');
  builder.work(session, first);
  builder.work(session, second);
  return { first, second };
}

/** Has an asked agent fail while it waits for another agent: the calls of both stay without responses. */
function giveUp(builder: HistoryBuilder, session: SessionHistory): void {
  const message = builder.send(session, 'chat');
  builder.begin(session, message);
  builder.commit(session, message, { content: calls('c-middle', 'middle') });
  for (const [id, call] of [
    ['c-middle', 'c-back'],
    ['c-back', 'c-remote'],
  ] as const) {
    const child = builder.session(id, { callId: id });
    delete child.initialState;
    builder.commit(child, message, { author: 'user', content: said('user', 'please') }, {}, []);
    builder.commit(child, message, { content: calls(call, call.slice(2)) }, {}, []);
  }
  builder.commit(session, message, { content: responds('c-middle', 'middle', { error: 'it was given up' }) });
  builder.speak(session, message, `did ${message.text}`);
  builder.end(message, { status: 'completed' });
}

/** Sends a message again and again, until a try is accepted. The client knows nothing about the tries before. */
function trySeveralTimes(builder: HistoryBuilder): void {
  const session = builder.session();
  const tries = Array.from({ length: 9 }, (): Message => builder.send(session, 'chat'));
  const repeats = tries[0]?.id ?? '';
  for (const each of tries) {
    if (each.id !== repeats) each.repeats = repeats;
    for (const key of ['acceptedAt', 'invocationId', 'view', 'expected'] as const) delete each[key];
  }
  Object.assign(builder.say(session, 'chat'), { repeats });
}

/**
 * Gives a call another outcome after its answer: the update becomes a dead letter. The sender of the first one
 * expects this.
 */
function lateAnswers(builder: HistoryBuilder, session: SessionHistory, callId: string): void {
  for (const deadLetter of ['failed_precondition', undefined]) {
    const late: Message = builder.send(session, 'late', { via: 'nats' });
    const response = { late: late.id };
    Object.assign(late, {
      kind: 'answer',
      answers: [{ callId, response }],
      ...(deadLetter && { deadLetter }),
    });
    for (const key of ['text', 'invocationId', 'expected'] as const) delete late[key];
    builder.history.rest.deadLetters.push({
      ...{ subject: `operation.front.${callId}`, code: 'failed_precondition' },
      ...{ message: `call ${callId} was answered before`, payload: JSON.stringify({ response }) },
    });
  }
}

/** Does a job beside another run, and begins a job that goes on. Returns the id of the latter. */
function doJobs(builder: HistoryBuilder, session: SessionHistory): string {
  builder.say(session, 'job');
  const done = lastPending(session);
  const message = builder.send(session, 'remote');
  builder.begin(session, message);
  builder.aside(session, done, false);
  builder.call(session, message, 'add_remote');
  builder.aside(session, done, true);
  builder.speak(session, message, `did ${message.text}`);
  builder.end(message, { status: 'completed' });
  builder.say(session, 'job');
  return lastPending(session);
}

/** Cancels a run at work and a waiting run, has one interrupted, and turns one away. */
function stopRuns(builder: HistoryBuilder, session: SessionHistory) {
  const cancelled = builder.send(session, 'ticket');
  builder.begin(session, cancelled);
  builder.call(session, cancelled, 'add_remote');
  const closed = builder.open(session, cancelled, 'ticket');
  const waiting = builder.send(session, 'chat');
  const turnedAway = builder.send(session, 'chat', { whenBusy: 'reject' });
  builder.fail(session, turnedAway, 'resource_exhausted');
  for (const { invocationId } of [waiting, cancelled]) builder.act('cancel', session, { invocationId });
  builder.fail(session, waiting, 'cancelled');
  builder.fail(session, cancelled, 'cancelled');
  const interrupted = builder.send(session, 'chat');
  const behind = builder.send(session, 'chat');
  const newest = builder.send(session, 'chat', { whenBusy: 'interrupt' });
  builder.begin(session, interrupted);
  builder.fail(session, interrupted, 'cancelled');
  builder.work(session, newest);
  builder.work(session, behind);
  return { cancelled, waiting, turnedAway, closed };
}

/** Says something, takes it back by a rewind, and says something else. */
export function rewind(builder: HistoryBuilder, session: SessionHistory): void {
  const message = builder.say(session, 'local');
  const { invocationId } = message;
  const before = Number(session.state.count) - 1;
  const rewinding: Sent = { ...message, invocationId: `${invocationId}-rewind` };
  const content = { role: 'user', parts: [] };
  const event = { author: 'user', content };
  builder.commit(session, rewinding, event, { count: before });
  const last = session.events.at(-1)?.event;
  if (last) last.actions.rewindBeforeInvocationId = invocationId;
  const record = { ...message.session, invocationId: rewinding.invocationId, status: 'completed' as const };
  builder.history.invocations.push({ ...record, ends: [{ status: 'completed' }] });
  builder.act('rewind', session, { invocationId });
  builder.say(session, 'local');
}

/** Has a client come back once, and another one leave for good. */
function leaveAndReturn(builder: HistoryBuilder, session: SessionHistory): void {
  const back = builder.say(session, 'remote').view;
  if (back) back.reconnects = 1;
  const left = builder.say(session, 'remote').view;
  if (!left) return;
  Object.assign(left, { finished: false, ends: [], left: true });
  left.seen.splice(1);
  left.texts.splice(1);
}

/** Deletes a session, and uses its id for a new one. */
function renew(builder: HistoryBuilder) {
  const before = builder.session('renewed');
  const old = builder.say(before, 'chat');
  builder.remove(before);
  builder.history.sessions = builder.history.sessions.filter((session) => session !== before);
  builder.act('create', before);
  const renewed = builder.session('renewed');
  builder.say(renewed, 'chat');
  return { renewed, old };
}

import { failureEventId } from '@agentmesh/agent/internal';
import { type Random, seededRandom } from '@agentmesh/testing';
import { HistoryBuilder, type Sent, type Work } from './builder.fixture.ts';
import type { SessionHistory } from './history.ts';
import { rewind } from './story.fixture.ts';

const works: readonly Work[] = ['chat', 'local', 'remote', 'nested', 'fan', 'ticket', 'job', 'confirm'];

/** One session of a simulation, with the messages that wait for it. */
interface Place {
  session: SessionHistory;
  queue: Sent[];
}

interface World {
  builder: HistoryBuilder;
  random: Random;
  places: Place[];
}

/**
 * Simulates a correct mesh: clients send messages, cancel, answer, delete, fork and rewind at random, and each
 * session works on its messages in order. Jobs go on beside the runs, and tool processes die.
 */
export function simulate(seed: number, steps = 60): HistoryBuilder {
  const builder = new HistoryBuilder();
  const random = seededRandom(seed);
  const world: World = { builder, random, places: [] };
  // Nobody stops the work of this session, so that each history has completed work.
  const calm = builder.session();
  for (const work of works) builder.say(calm, work);
  addPlace(world);
  addPlace(world);
  for (let n = 0; n < steps; n += 1) {
    const place = random.pick(world.places);
    random.pick(actions)(world, place);
  }
  for (const place of world.places) while (place.queue.length > 0) workNext(world, place);
  return builder;
}

type Action = (world: World, place: Place) => void;

/** The possible steps. Frequent ones are in the list several times. */
const actions: readonly Action[] = [
  ...[send, send, send, send, workNext, workNext, workNext, workNext],
  ...[
    progress,
    outcome,
    answer,
    cancelWaiting,
    cancelAtWork,
    failAtBegin,
    mixWithJob,
    rewindOne,
    fork,
    remove,
    dieAfterEffect,
  ],
];

function addPlace({ builder, places }: World, session = builder.session()): void {
  places.push({ session, queue: [] });
}

function send({ builder, random }: World, { session, queue }: Place): void {
  const op = random.pick(works);
  const whenBusy = random.pick(['enqueue', 'enqueue', 'enqueue', 'reject', 'interrupt'] as const);
  const isNats = random.chance(0.2);
  const message = builder.send(session, op, {
    ...{ whenBusy, counts: op === 'local' || op === 'fan' ? 1 : 0 },
    ...(isNats && { via: 'nats' as const }),
    ...(random.chance(0.2) && { stateDelta: { [`note_${builder.tick()}`]: true } }),
  });
  if (whenBusy === 'reject' && queue.length > 0) builder.fail(session, message, 'resource_exhausted');
  else if (whenBusy === 'interrupt') queue.unshift(message);
  else queue.push(message);
}

function workNext({ builder }: World, { session, queue }: Place): void {
  const message = queue.shift();
  if (message) builder.work(session, message);
}

function cancelWaiting({ builder }: World, { session, queue }: Place): void {
  const message = queue.pop();
  if (!message) return;
  builder.act('cancel', session, { invocationId: message.invocationId });
  builder.fail(session, message, 'cancelled');
}

/** Ends a waiting run as a mesh may do that has just taken it: with the event of its failure alone. */
function failAtBegin({ builder }: World, { session, queue }: Place): void {
  const message = queue.shift();
  if (!message) return;
  message.deadlineMs = 1;
  const failure = { id: failureEventId(message), errorCode: 'deadline_exceeded', errorMessage: 'too late' };
  builder.commit(session, message, failure);
  builder.end(message, { status: 'failed', code: 'deadline_exceeded' });
}

function cancelAtWork({ builder, random }: World, { session, queue }: Place): void {
  const message = queue.shift();
  if (!message) return;
  builder.begin(session, message);
  if (random.chance(0.5)) builder.call(session, message, 'add_remote');
  if (random.chance(0.5)) builder.open(session, message, 'ticket');
  builder.act('cancel', session, { invocationId: message.invocationId });
  builder.fail(session, message, 'cancelled');
}

const jobOf = ({ session }: Place) => session.pending.find(({ callId }) => callId.startsWith('job'))?.callId;

function progress({ builder }: World, place: Place): void {
  const job = jobOf(place);
  if (job !== undefined) builder.aside(place.session, job, false);
}

function outcome({ builder }: World, place: Place): void {
  const job = jobOf(place);
  if (job !== undefined) builder.aside(place.session, job, true);
}

/** Has a run work while a job tells its outcome. */
function mixWithJob({ builder }: World, place: Place): void {
  const { session, queue } = place;
  const job = jobOf(place);
  if (job === undefined || queue[0]?.op !== 'chat') return;
  const [message] = queue.splice(0, 1);
  if (!message) return;
  builder.begin(session, message);
  builder.aside(session, job, true);
  builder.speak(session, message, `did ${message.text}`);
  builder.end(message, { status: 'completed' });
}

function answer({ builder, random }: World, { session, queue }: Place): void {
  const call = session.pending.find(({ callId }) => !callId.startsWith('job'));
  if (!call || queue.length > 0) return;
  builder.answer(session, call.callId, random.pick(['http', 'nats']), { confirmed: true });
}

function rewindOne({ builder }: World, { session, queue }: Place): void {
  if (queue.length === 0) rewind(builder, session);
}

function fork(world: World, { session, queue }: Place): void {
  if (queue.length === 0 && world.places.length < 6) addPlace(world, world.builder.fork(session));
}

/** Deletes a session; its waiting messages fail. A new session may get its id. */
function remove(world: World, place: Place): void {
  const { builder, random, places } = world;
  if (places.length < 2) return;
  const { session } = place;
  for (const message of place.queue.splice(0)) builder.fail(session, message, 'not_found');
  builder.remove(session);
  places.splice(places.indexOf(place), 1);
  if (random.chance(0.5)) addPlace(world);
  else renew(world, session);
}

function renew(world: World, { sessionId, ...old }: SessionHistory): void {
  const { builder } = world;
  const { history } = builder;
  history.sessions = history.sessions.filter((session) => session.sessionId !== sessionId);
  builder.act('create', { ...old, sessionId });
  addPlace(world, builder.session(sessionId));
}

/** Has a process die after the effect of a call, so that another process repeats the effect. */
function dieAfterEffect({ builder: { history } }: World): void {
  const last = history.executions.findLast(({ tool }) => tool === 'add_remote');
  const life = `tool/9#${history.lives.length}`;
  if (!last || history.executions.filter(({ callId }) => callId === last.callId).length > 1) return;
  const beganAt = last.beganAt - 0.5;
  const times = { startedAt: 0, diedAt: last.beganAt - 0.25, pauses: [], cutOffs: [], unaware: [] };
  history.lives.push({ replica: 'tool/9', life, ...times });
  const at = history.executions.findIndex(({ callId }) => callId === last.callId);
  const { endedAt: _endedAt, ...unfinished } = last;
  history.executions.splice(at, 0, { ...unfinished, replica: 'tool/9', life, beganAt });
}

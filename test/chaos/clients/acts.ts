import { setTimeout as delay } from 'node:timers/promises';
import type { SessionRef } from '@agentmesh/protocol';
import { type Act, type Message, now } from '../check/history.ts';
import { expectedOf, wordAbout } from '../model.ts';
import type { Answer, Cancel, Delete, Fork, Outcome, Rewind, Upload } from '../plan/steps.ts';
import { emptyView } from './follow.ts';
import { type Answered, codeOf, type GatewayDoor, pathOf } from './gateway-door.ts';
import { makeMilestones } from './milestones.ts';
import { beginAct, type Place, type World } from './place.ts';
import { doorOf, sendRun, sessionOf } from './say.ts';

/** Notes the answer to an act. After a repetition, a refusal tells nothing about the first request. */
function endAct(act: Act, answer: Answered | undefined): void {
  if (!answer) return;
  act.doneAt = now();
  if (answer.status >= 500) return;
  if (answer.status >= 300 && answer.isRepeat) return;
  act.outcome = answer.status < 300 ? 'done' : 'refused';
  const code = codeOf(answer);
  if (act.outcome === 'refused' && code !== undefined) act.code = code;
}

/** The tries to cancel a run that has not begun, and the pause between them, in ms. */
const cancelTries = 12;
const cancelPauseMs = 40;

export async function cancel(world: World, place: Place, { of, when, atMs }: Cancel): Promise<void> {
  const milestones = place.milestones.get(of);
  await milestones?.reached(when === 'accepted' ? 'accepted' : when);
  if (when !== 'accepted') await delay(atMs);
  const { invocationId } = milestones ?? {};
  if (invocationId === undefined || !place.session) return;
  using door = doorOf(world, of);
  const session = await sessionOf(world, place, door);
  for (let attempt = 1; attempt <= cancelTries; attempt += 1) {
    const act = beginAct(world, { kind: 'cancel', session, invocationId });
    const answer = await door.ask('POST', `${pathOf(session)}/invocations/${invocationId}/cancel`, {});
    endAct(act, answer);
    if (answer && answer.status < 300) return;
    await delay(cancelPauseMs);
    if (!answer) await door.elsewhere();
  }
}

export async function remove(world: World, place: Place, { again }: Delete): Promise<void> {
  using door = doorOf(world, '0');
  const session = await sessionOf(world, place, door);
  // From now on, the session's runs may be gone at any time.
  place.deletedAt.set(session.sessionId, Number.POSITIVE_INFINITY);
  const act = beginAct(world, { kind: 'delete', session });
  const answer = await door.insist('DELETE', pathOf(session));
  endAct(act, answer);
  if (again && act.outcome === 'done') {
    const creation = beginAct(world, { kind: 'create', session });
    endAct(creation, await door.insist('POST', pathOf(session), {}));
    if (creation.outcome === 'done') {
      place.deletedAt.set(session.sessionId, now());
      return;
    }
  }
  place.session = undefined;
}

export async function fork(world: World, place: Place, { goOn }: Fork): Promise<void> {
  using door = doorOf(world, '1');
  const session = await sessionOf(world, place, door);
  const act = beginAct(world, { kind: 'fork', session });
  const answer = await door.ask('POST', `${pathOf(session)}/fork`, {});
  endAct(act, answer);
  const forkId = answer?.body.id;
  if (act.outcome !== 'done' || typeof forkId !== 'string') return;
  act.forkId = forkId;
  const copy: SessionRef = { ...session, sessionId: forkId };
  world.traffic.sessions.set(forkId, copy);
  if (goOn) place.session = Promise.resolve(copy);
}

export async function rewind(world: World, place: Place, { before }: Rewind): Promise<void> {
  const invocationId = place.milestones.get(before)?.invocationId;
  if (invocationId === undefined || !place.session) return;
  using door = doorOf(world, before);
  const session = await sessionOf(world, place, door);
  const act = beginAct(world, { kind: 'rewind', session, invocationId });
  endAct(
    act,
    await door.ask('POST', `${pathOf(session)}/rewind`, { rewindBeforeInvocationId: invocationId }),
  );
}

export async function upload(world: World, place: Place, { id, bytes }: Upload): Promise<void> {
  using door = doorOf(world, id);
  const session = await sessionOf(world, place, door);
  await door.insist('POST', `${pathOf(session)}/artifacts`, {
    filename: `upload-${id}.txt`,
    artifact: { text: 'y'.repeat(bytes) },
  });
}

/** A pending call, as far as the clients read it. */
interface PendingCall {
  id: string;
  kind: string;
  operationSubject?: string;
  /** A confirmation names the call that waits. */
  args?: { originalFunctionCall?: { args?: { op?: string } } };
}

/** The time for which a client waits for the question or the ticket of its message, in ms. */
const pendingMs = 8_000;

/** Waits until a session has a pending call of a kind. Asks a gateway over HTTP, or over NATS. */
async function awaitPending(
  world: World,
  door: GatewayDoor,
  session: SessionRef,
  via: 'http' | 'nats',
): Promise<PendingCall | undefined> {
  const giveUpAt = now() + pendingMs;
  const { appName: app, userId: user, sessionId } = session;
  while (now() < giveUpAt) {
    const calls =
      via === 'http'
        ? (await door.ask('GET', `${pathOf(session)}/pending`))?.body.pending
        : await world.nats.pending({ app, user, session: sessionId });
    const [call] = (Array.isArray(calls) ? calls : []) as PendingCall[];
    if (call) return call;
    await delay(150);
    await door.elsewhere();
  }
  return undefined;
}

/** Answers a question over HTTP, as a message with a function response. */
export async function answer(world: World, place: Place, step: Answer): Promise<void> {
  const asking = place.milestones.get(step.to);
  if (asking?.invocationId === undefined || !place.session) return;
  using door = doorOf(world, step.id);
  const session = await sessionOf(world, place, door);
  const call = await awaitPending(world, door, session, 'http');
  if (!call) return;
  const response = { confirmed: step.confirmed };
  const message: Message = {
    ...{
      id: step.id,
      session,
      via: 'http',
      kind: 'answer',
      op: 'confirm',
      whenBusy: 'enqueue',
      sentAt: now(),
    },
    answers: [{ callId: call.id, response }],
    // The message may have been sent again, under another name.
    expected: expectedOf('confirm', call.args?.originalFunctionCall?.args?.op ?? step.to),
  };
  world.traffic.messages.push(message);
  const trial = {
    ...{ world, place, door, message, milestones: makeMilestones() },
    attempt: { ...session, view: emptyView() },
  };
  const functionResponse = { id: call.id, name: 'adk_request_confirmation', response };
  const operation = { id: step.id, kind: 'confirm' as const, attempts: [trial.attempt], done: false, ms: 0 };
  world.traffic.operations.push(operation);
  await sendRun(trial, { parts: [{ functionResponse }] }, 'steady');
  operation.done = true;
  operation.ms = now() - message.sentAt;
  world.onDone?.();
}

/** Publishes the outcome of a ticket, once or twice. */
export async function outcome(world: World, place: Place, step: Outcome): Promise<void> {
  const opening = place.milestones.get(step.to);
  if (opening?.invocationId === undefined || !place.session) return;
  using door = doorOf(world, step.id);
  const session = await sessionOf(world, place, door);
  const call = await awaitPending(world, door, session, 'nats');
  if (!call?.operationSubject) return;
  const response = { status: 'approved', outcome: step.to };
  for (let n = 1; n <= step.times; n += 1) {
    const message: Message = {
      ...{ id: `${step.id}.${n}`, session, via: 'nats', kind: 'answer', op: 'ticket', whenBusy: 'enqueue' },
      ...{ sentAt: now(), answers: [{ callId: call.id, response }] },
      expected: [wordAbout('front_agent', step.to)],
    };
    world.traffic.messages.push(message);
    const payload = { final: true, response, by: `client ${n}` };
    if (await world.nats.publish({ subject: call.operationSubject, payload }, door.signal))
      message.acceptedAt = now();
  }
}

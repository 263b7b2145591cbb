import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type SessionRef, subjects } from '@agentmesh/protocol';
import { type Message, now } from '../check/history.ts';
import { countsOf, expectedOf, wordsOf } from '../model.ts';
import type { Reading, Say } from '../plan/steps.ts';
import type { Attempt, Operation } from '../traffic.ts';
import { emptyView, followRun } from './follow.ts';
import { codeOf, GatewayDoor } from './gateway-door.ts';
import { type Milestones, makeMilestones } from './milestones.ts';
import type { Place, World } from './place.ts';

/** Opens the door for a step. The step's name decides which gateway comes first. */
export function doorOf({ gateways, patienceMs, signal }: World, id: string): GatewayDoor {
  return new GatewayDoor({ gateways, patienceMs, signal, first: Number(id.split('-').at(-1)) });
}

/** Returns the current session of a place; makes one if there is none. */
export async function sessionOf(world: World, place: Place, door: GatewayDoor): Promise<SessionRef> {
  place.session ??= door.createSession(world.app, place.user);
  const ref = await place.session;
  world.traffic.sessions.set(ref.sessionId, ref);
  return ref;
}

/**
 * Sends a message and follows its run to the end. A message of which the client does not know whether it was
 * accepted is sent again with another text, in another session.
 */
export async function say(world: World, place: Place, step: Say): Promise<void> {
  const operation: Operation = { id: step.id, kind: step.kind, attempts: [], done: false, ms: 0 };
  world.traffic.operations.push(operation);
  using door = doorOf(world, step.id);
  const milestones = makeMilestones();
  place.milestones.set(step.id, milestones);
  const at = now();
  try {
    for (let n = 0; !operation.done; n += 1) {
      const id = n === 0 ? step.id : `${step.id}.${n}`;
      const session = await sessionOf(world, place, door);
      const message = { ...messageOf(step, id, session), ...(n > 0 && { repeats: step.id }) };
      world.traffic.messages.push(message);
      const attempt: Attempt = { ...session, view: emptyView() };
      operation.attempts.push(attempt);
      const trial: Trial = { world, place, door, message, attempt, milestones };
      const sent = await (step.via === 'nats' ? sayOnNats(trial) : sayOverHttp(trial, step));
      operation.done = sent === 'known' && message.refused?.code !== busyCode;
      if (sent === 'unknown') place.session = undefined;
      if (!operation.done) await pause(sent === 'known' ? busyMs : unknownMs);
    }
  } catch (error) {
    if (!door.signal.aborted) throw error;
    place.session = undefined;
  }
  milestones.pass('over');
  operation.ms = now() - at;
  world.onDone?.();
}

/** The code of a refusal after which a client tries again: a server has no room. */
const busyCode = 'resource_exhausted';
/** The pauses before the next try, in ms: after a refusal, and when nobody answered. */
const busyMs = 600;
const unknownMs = 100;

function messageOf(step: Say, id: string, session: SessionRef): Message {
  const { kind, via, whenBusy, deadlineMs, stateDelta } = step;
  return {
    ...{ id, session, via, kind: 'message', op: kind, whenBusy, sentAt: now() },
    text: wordsOf(kind, id, step.padBytes),
    expected: expectedOf(kind, id),
    counts: countsOf(kind),
    ...(deadlineMs !== undefined && { deadlineMs }),
    ...(stateDelta && { stateDelta }),
  };
}

/** One try to send a message. */
export interface Trial {
  world: World;
  place: Place;
  door: GatewayDoor;
  message: Message;
  attempt: Attempt;
  milestones: Milestones;
}

/** The client's knowledge after a try: the message was accepted or refused, or both are possible. */
type Sent = 'known' | 'unknown';

async function sayOverHttp(trial: Trial, step: Say): Promise<Sent> {
  return await sendRun(trial, { parts: [{ text: trial.message.text }] }, step.reads);
}

/** Sends a message or an answer to a gateway, and follows the run. */
export async function sendRun(trial: Trial, newMessage: object, reads: Reading): Promise<Sent> {
  const { door, message } = trial;
  const { session, whenBusy, stateDelta } = message;
  const { appName, userId, sessionId } = session;
  message.sentAt = now();
  const response = await door.send('POST', '/run_sse', {
    ...{ appName, userId, sessionId, whenBusy, streaming: true },
    newMessage: { role: 'user', ...newMessage },
    ...(stateDelta && { stateDelta }),
  });
  const invocationId = response?.ok ? response.headers.get('x-invocation-id') : undefined;
  if (!response || !invocationId) {
    return (await noteRefusal(message, response)) ? 'known' : 'unknown';
  }
  const resume = response.headers.get('x-resume-id');
  accept(trial, invocationId, resume ?? undefined);
  await followRun(followerOf(trial, invocationId, reads), response);
  return 'known';
}

/** Tells whether the gateway refused the message for good. After any other error it may be accepted. */
async function noteRefusal(message: Message, response: Response | undefined): Promise<boolean> {
  const text = await response?.text().catch(() => undefined);
  if (!response || text === undefined || response.status < 400 || response.status >= 500) return false;
  // A client that accepts any type gets its errors as JSON.
  message.refused = { code: codeOf({ status: response.status, body: JSON.parse(text) }) ?? 'unknown' };
  return true;
}

function accept({ message, attempt, milestones }: Trial, invocationId: string, resume?: string): void {
  message.acceptedAt = now();
  message.invocationId = invocationId;
  if (resume !== undefined) message.resume = resume;
  message.view = attempt.view;
  attempt.invocationId = invocationId;
  milestones.invocationId = invocationId;
  milestones.pass('accepted');
}

function followerOf(
  { door, message, attempt, milestones, place }: Trial,
  invocationId: string,
  reads: Reading,
) {
  const { session, sentAt } = message;
  const isDeleted = () => (place.deletedAt.get(session.sessionId) ?? 0) > sentAt;
  return { door, session, invocationId, view: attempt.view, reads, milestones, isDeleted };
}

/** The time for which a NATS program waits for the published end before it asks a gateway, in ms. */
const newsMs = 6_000;
/** The agent that takes the messages of NATS programs. */
const frontAgent = 'front_agent';

/**
 * Publishes a message as any program does, waits for its published end, and reads the events at a gateway. A run
 * has a chosen id, so a repeated publication is the same run.
 */
async function sayOnNats(trial: Trial): Promise<Sent> {
  const { world, door, message } = trial;
  const { appName: app, userId: user, sessionId: session } = message.session;
  const invocationId = `e-${randomUUID()}`;
  const { whenBusy, stateDelta, deadlineMs } = message;
  const told = world.nats.endOf(invocationId, newsMs);
  message.sentAt = now();
  const isSafe = await world.nats.publish(
    {
      subject: subjects().agentRun(frontAgent, session),
      payload: {
        ...{ invocationId, app, user, session, whenBusy },
        message: message.text,
        ...(stateDelta && { stateDelta }),
      },
      messageId: `${invocationId}:0`,
      ...(deadlineMs !== undefined && { deadlineMs }),
    },
    door.signal,
  );
  door.signal.throwIfAborted();
  if (!isSafe) return 'unknown';
  accept(trial, invocationId);
  const end = await Promise.race([told, trial.milestones.reached('over').then(() => undefined)]);
  if (end) {
    const { invocationId: _id, ...told } = end;
    trial.attempt.view.ends.push(told);
    // The record of the end is written before the news of it, so the gateway has it.
    await pause(1);
  }
  await followRun(followerOf(trial, invocationId, 'steady'), undefined);
  return 'known';
}

import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Headers, header, MeshError, type SessionRef } from '@agentmesh/protocol';
import { type Message, now } from '../../chaos/check/history.ts';
import { emptyView } from '../../chaos/check/parts.fixture.ts';
import { type Milestones, makeMilestones } from '../../chaos/clients/milestones.ts';
import { clientTool, countsOf, expectedOf, wordsOf } from '../../chaos/model.ts';
import type { Reading, Say } from '../../chaos/plan/steps.ts';
import { names } from '../stage/start-process.ts';
import { sessionOf, type Visitor } from './clients.ts';
import type { Content } from './entry.ts';
import { comeBack, follow } from './follow.ts';
import { isUnknown } from './gateways.ts';

/** The pause before a message that nobody knows about is sent again, in ms. */
const againMs = 50;
/** The agent that takes the messages of programs. */
const frontAgent = 'front_agent';

/**
 * Sends a message and follows its run to the end. A message of which the client does not know whether it was accepted
 * is sent again with another text, in another session.
 */
export async function say(visitor: Visitor, step: Say): Promise<void> {
  const { clients, place } = visitor;
  const milestones = makeMilestones();
  place.milestones.set(step.id, milestones);
  for (let n = 0; ; n += 1) {
    const id = n === 0 ? step.id : `${step.id}.${n}`;
    const message = clients.send(messageOf(step, id, await sessionOf(visitor)));
    if (n > 0) message.repeats = step.id;
    const trial: Trial = { visitor, message, milestones, reads: step.reads };
    const sent = await (step.via === 'nats' ? sendToQueue(trial) : sendToGateway(trial, message.text ?? ''));
    if (sent === 'known') break;
    place.session = undefined;
    await delay(againMs);
  }
  milestones.pass('over');
}

function messageOf(step: Say, id: string, session: SessionRef): Message {
  const { kind, via, whenBusy, deadlineMs, stateDelta, padBytes } = step;
  return {
    ...{ id, session, via, kind: 'message', op: kind, whenBusy, sentAt: now() },
    ...{ text: wordsOf(kind, id, padBytes), expected: expectedOf(kind, id), counts: countsOf(kind) },
    ...(deadlineMs !== undefined && { deadlineMs }),
    ...(stateDelta && { stateDelta }),
    ...(kind === 'client' && { client: { tools: [clientTool] } }),
  };
}

/** One try to send a message. */
export interface Trial {
  visitor: Visitor;
  message: Message;
  milestones: Milestones;
  reads: Reading;
}

/** The client's knowledge after a try: the message was accepted or refused, or both are possible. */
type Sent = 'known' | 'unknown';

/** Sends a message or an answer to a gateway, and follows the run. */
export async function sendToGateway(
  { visitor, message, milestones, reads }: Trial,
  content: Content,
): Promise<Sent> {
  const { gateways } = visitor.clients;
  const gateway = gateways.next();
  const leave = new AbortController();
  message.sentAt = now();
  try {
    const run = await gateways.at(gateway, (entry) => entry.start(message, content, leave.signal));
    accept(message, milestones, run);
    message.view = emptyView();
    await follow({ visitor, message, view: message.view, milestones, reads }, gateway, run, leave);
    return 'known';
  } catch (error) {
    if (isUnknown(error)) return 'unknown';
    message.refused = { code: MeshError.from(error).code };
    return 'known';
  }
}

function accept(
  message: Message,
  milestones: Milestones,
  { invocationId, resume }: { invocationId: string; resume?: string },
): void {
  message.acceptedAt = now();
  message.invocationId = invocationId;
  if (resume !== undefined) message.resume = resume;
  milestones.invocationId = invocationId;
  milestones.pass('accepted');
}

/**
 * Publishes a message as any program does, and reads the events at a gateway. The run has a chosen id, so a repeated
 * publication is the same run.
 */
async function sendToQueue({ visitor, message, milestones, reads }: Trial): Promise<Sent> {
  const { appName: app, userId: user, sessionId: session } = message.session;
  const { whenBusy, stateDelta, deadlineMs, text } = message;
  const invocationId = `e-${randomUUID()}`;
  const command = {
    invocationId,
    app,
    user,
    session,
    whenBusy,
    message: text,
    ...(stateDelta && { stateDelta }),
  };
  message.sentAt = now();
  const headers: Headers =
    deadlineMs === undefined ? {} : { [header.deadline]: String(Date.now() + deadlineMs) };
  const { bus } = visitor.clients.program;
  await enqueueUntilStored(() =>
    bus.enqueue(names.agentRun(frontAgent, session), command, { messageId: `${invocationId}:0`, headers }),
  );
  accept(message, milestones, { invocationId });
  message.view = emptyView();
  await comeBack({ visitor, message, view: message.view, milestones, reads });
  return 'known';
}

/** Enqueues until the queue has the message. */
export async function enqueueUntilStored(enqueue: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await enqueue();
      return;
    } catch (error) {
      if (!MeshError.from(error).retryable) throw error;
      await delay(againMs);
    }
  }
}

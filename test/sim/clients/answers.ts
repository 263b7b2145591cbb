import { setTimeout as delay } from 'node:timers/promises';
import type { AddressedCall } from '@agentmesh/mesh';
import { MeshError, type SessionRef } from '@agentmesh/protocol';
import { type Message, now } from '../../chaos/check/history.ts';
import { makeMilestones } from '../../chaos/clients/milestones.ts';
import { expectedOf, wordAbout } from '../../chaos/model.ts';
import type { Answer, Outcome } from '../../chaos/plan/steps.ts';
import { sessionOf, type Visitor } from './clients.ts';
import { enqueueUntilStored, sendToGateway } from './say.ts';

/** The time for which a client waits for a question or a ticket, and the pause between two looks, in ms. */
const pendingMs = 8_000;
const lookMs = 150;
/** The time after which a client looks whether an answer of which it knows nothing was taken, in ms. */
const againMs = 2_500;

/**
 * Answers a question, or a call of a tool of the client, as a message with a function response, until the client knows
 * that an answer was taken.
 */
export async function answer(visitor: Visitor, step: Answer): Promise<void> {
  const { place, clients } = visitor;
  if (place.milestones.get(step.to)?.invocationId === undefined || !place.session) return;
  let first: string | undefined;
  for (let n = 0; ; n += 1) {
    const session = await sessionOf(visitor);
    const call = await awaitPending(visitor, session, n === 0 ? pendingMs : 0);
    // The run that the answer has begun may wait for the next call of the tool.
    if (!call || (call.kind === 'result' && call.id !== (first ?? call.id))) return;
    first = call.id;
    const op = call.kind === 'result' ? 'client' : 'confirm';
    const response = { confirmed: step.confirmed };
    const message = clients.send({
      ...{ session, via: 'http', kind: 'answer', op, whenBusy: 'enqueue', sentAt: now() },
      ...{ id: n === 0 ? step.id : `${step.id}.${n}`, answers: [{ callId: call.id, response }] },
      expected: expectedOf(op, opOf(call) ?? step.to),
      ...(n > 0 && { repeats: step.id }),
    });
    const functionResponse = { id: call.id, name: call.name, response };
    const trial = { visitor, message, milestones: makeMilestones(), reads: 'steady' as const };
    const sent = await sendToGateway(trial, { role: 'user', parts: [{ functionResponse }] });
    if (sent === 'known') return;
    await delay(againMs);
  }
}

/** Returns the operation that a call is about: its message may have been sent again, under another name. */
function opOf({ args }: AddressedCall): string | undefined {
  const { originalFunctionCall, op } = (args ?? {}) as {
    originalFunctionCall?: { args?: { op?: string } };
    op?: string;
  };
  return originalFunctionCall?.args?.op ?? op;
}

/** Publishes the outcome of a ticket, once or twice. */
export async function outcome(visitor: Visitor, step: Outcome): Promise<void> {
  const { place, clients } = visitor;
  if (place.milestones.get(step.to)?.invocationId === undefined || !place.session) return;
  const session = await sessionOf(visitor);
  const call = await awaitPending(visitor, session, pendingMs);
  const subject = call?.operationSubject;
  if (!call || subject === undefined) return;
  const response = { status: 'approved', outcome: step.to };
  for (let n = 1; n <= step.times; n += 1) {
    const message: Message = clients.send({
      ...{ id: `${step.id}.${n}`, session, via: 'nats', kind: 'answer', op: 'ticket', whenBusy: 'enqueue' },
      ...{ sentAt: now(), answers: [{ callId: call.id, response }] },
      expected: [wordAbout('front_agent', step.to)],
    });
    const update = { final: true, response, by: `client ${n}` };
    const { bus } = clients.program;
    await enqueueUntilStored(() => bus.enqueue(subject, update, { messageId: message.id }));
    message.acceptedAt = now();
  }
}

/** Waits until a session has a pending call. Returns undefined when none comes in time. */
async function awaitPending(
  { clients }: Visitor,
  session: SessionRef,
  withinMs: number,
): Promise<AddressedCall | undefined> {
  const giveUpAt = now() + withinMs;
  for (;;) {
    const look = clients.gateways.insist((entry) => entry.pending(session));
    const [call] = await look.catch((error: unknown) => {
      if (MeshError.from(error).code === 'not_found') return [];
      throw error;
    });
    if (call || now() >= giveUpAt) return call;
    await delay(lookMs);
  }
}

import type { PendingCall } from '@agentmesh/agent';
import {
  askerCancelled,
  askingEvent,
  assertContinues,
  functionCallIdPrefix,
  isPassedOn,
  logIndex,
  readMessage,
} from '@agentmesh/agent/internal';
import {
  type AnsweredBy,
  type Event,
  MeshError,
  messageSchema,
  parse,
  type SessionRef,
} from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { openAnswers } from './sealed-answers.ts';

/**
 * Refuses a message that the agent would refuse, as far as this is known before the agent runs. A refused
 * message is not enqueued and changes nothing. Returns the result of {@link askedFor}.
 *
 * @param answeredBy the source of the answers in the message
 * @param continued the invocation that the message must continue, if any
 * @throws MeshError as `readMessage`; `failed_precondition` for a message that does not answer `continued`
 */
export async function checkMessage(
  mesh: Mesh,
  ref: SessionRef,
  message: unknown,
  { answeredBy, continued }: { answeredBy?: AnsweredBy | undefined; continued?: string | undefined },
): Promise<readonly Event[]> {
  const content = parse(messageSchema, message, 'the message');
  const pending = await pendingOf(mesh, ref, answeredIds(message));
  const events = pending?.map(askingEvent) ?? (await eventsOf(mesh, ref));
  // An answer that nobody asked for is refused as it is: nothing could open it.
  const index = logIndex(events);
  const opened = await openAnswers(mesh, ref, content, ({ id }) => index.question(id) !== undefined);
  readMessage(opened, { events, ...answererOf(ref, answeredBy) });
  if (continued !== undefined) assertContinues(content, { events, invocationId: continued });
  for (const call of pending ?? []) {
    if (await isCancelled(mesh, ref, call)) throw askerCancelled(call);
    if (isAskedByCaller(call)) throw askedByCaller(call);
  }
  return events;
}

/**
 * Returns the events with the calls that a message answers, perhaps together with other events; no events for
 * a message that answers nothing. If all the calls are pending, the events come from the pending calls, so
 * the cost does not grow with the session.
 */
export async function askedFor(mesh: Mesh, ref: SessionRef, message: unknown): Promise<readonly Event[]> {
  const pending = await pendingOf(mesh, ref, answeredIds(message));
  return pending?.map(askingEvent) ?? (await eventsOf(mesh, ref));
}

/** The deadline is checked also for an answer that says to be reserved: here no answer is. */
function answererOf({ userId }: SessionRef, answeredBy: AnsweredBy | undefined) {
  return { userId, ...(answeredBy && { answeredBy: { ...answeredBy, via: 'check' } }) };
}

/**
 * Tells whether the caller of an agent that is used as a tool asks this question too, in its own session. One
 * action must not wait for two answers: only the answer in the caller's session counts.
 */
export function isAskedByCaller({ sessionId, name }: PendingCall): boolean {
  return sessionId.startsWith(functionCallIdPrefix) && isPassedOn(name);
}

function askedByCaller({ id, name }: PendingCall): MeshError {
  return new MeshError(
    'failed_precondition',
    `${name} ${id} is also asked by the calling agent: answer it in the session of that agent`,
  );
}

/**
 * Returns the ids of the calls that a message answers; the id of an answer without an id is the empty text.
 */
function answeredIds(message: unknown): ReadonlySet<string> {
  const { parts = [] } = parse(messageSchema, message, 'the message');
  return new Set(
    parts.flatMap(({ functionResponse }) => (functionResponse ? (functionResponse.id ?? '') : [])),
  );
}

/** Returns the pending calls with these ids; undefined unless all of them are pending in the session. */
async function pendingOf(
  { sessions }: Mesh,
  ref: SessionRef,
  ids: ReadonlySet<string>,
): Promise<PendingCall[] | undefined> {
  if (ids.size === 0) return [];
  const waiting = (await sessions.pending.list(ref)).filter(({ id }) => ids.has(id));
  return waiting.length === ids.size ? waiting : undefined;
}

async function eventsOf({ sessions }: Mesh, ref: SessionRef): Promise<readonly Event[]> {
  return (await sessions.getSession(ref))?.events ?? [];
}

/**
 * Tells whether the run with the question was cancelled, or is about to be. For a call that waits for a
 * result this is never so: the result is still taken.
 */
async function isCancelled(
  { sessions }: Mesh,
  ref: SessionRef,
  { kind, invocationId }: PendingCall,
): Promise<boolean> {
  if (kind === 'result') return false;
  const { status, error, cancelled } = await sessions.invocations.get({ ...ref, invocationId });
  return error?.code === 'cancelled' || (status === 'running' && cancelled !== undefined);
}

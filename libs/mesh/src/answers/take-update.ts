import { createEvent, createEventActions, type PendingCall, type Session } from '@agentmesh/agent';
import {
  type AnswerState,
  answerDigest,
  callAnsweredError,
  noSession,
  progressId,
} from '@agentmesh/agent/internal';
import type { Started, WorkItem, WorkOutcome } from '@agentmesh/bus';
import {
  type AnsweredBy,
  type Headers,
  MeshError,
  type OperationUpdate,
  operationUpdateSchema,
  readOperation,
} from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import type { ServedAgent } from '../mesh/served-agent.ts';
import { traceHeaders } from '../messages/carrier.ts';
import { moveToDeadLetters } from '../messages/dead-letter.ts';
import { publishEvent } from '../messages/publish-event.ts';
import { readPayload } from '../messages/read-payload.ts';
import { checkMessage } from './check-message.ts';
import { assertMayUpdate, auditRefusal, sourceOf, withOwnState } from './check-update.ts';
import { sessionOfCall, unknownCall } from './locate-call.ts';
import { hasOvertaken } from './progress-order.ts';
import { type LocatedCall, messageOf, responsePart, runFor, startAnswerRun } from './start-answer-run.ts';

const done: WorkOutcome = { done: true };
/**
 * Pause before an outcome is tried again while the call's own invocation may still answer it, in ms: the
 * first pause and the longest one.
 */
const busyMs = 100;
const longestBusyMs = 1_600;
const retryMs = 1_000;
const maxConcurrency = 32;

/**
 * Takes the updates of long-running calls that the agent's service has made, and the answers to its
 * questions. In this process an update waits for the progress of its call that came before: progress after the end
 * of a call would be dropped.
 */
export async function consumeOperations(served: ServedAgent): Promise<Started> {
  const { mesh, agent } = served;
  /** The last progress of each call that is at work here, by the subject of its updates. */
  const atWork = new Map<string, Promise<unknown>>();
  const takeInOrder = async (item: WorkItem): Promise<WorkOutcome> => {
    const { subject } = item;
    const before = atWork.get(subject) ?? Promise.resolve();
    const taking = before.then(() => handleOperation(served, item));
    if (!isProgress(item)) return await taking;
    const taken = taking
      .catch(() => {})
      .finally(() => atWork.get(subject) === taken && atWork.delete(subject));
    atWork.set(subject, taken);
    return await taking;
  };
  return await mesh.bus.consumeOperations(agent.name, takeInOrder, { maxConcurrency });
}

/** Tells whether an item is an update that leaves its call open. */
function isProgress(item: WorkItem): boolean {
  try {
    const { success, data } = operationUpdateSchema.safeParse(item.json());
    return success && !data.final;
  } catch {
    return false;
  }
}

/**
 * Takes one update: keeps it, publishes it, acknowledges it, in this order. An update that cannot be taken
 * becomes a dead letter with the reason. A repeated update changes nothing.
 */
async function handleOperation(served: ServedAgent, item: WorkItem): Promise<WorkOutcome> {
  const log = served.mesh.log.child({ agent: served.agent.name, subject: item.subject });
  try {
    return await takeUpdate(served, item);
  } catch (thrown) {
    const error = MeshError.from(thrown, 'the update could not be taken; the log has the cause');
    if (error.retryable) {
      log.warn({ err: error }, 'could not take an update; it will be tried again');
      return { done: false, delayMs: retryMs };
    }
    auditRefusal(served.mesh, item, error);
    await moveToDeadLetters(served.mesh, { kind: 'agent', name: served.agent.name }, item, error);
    return done;
  }
}

/** An update, and its source. */
interface ReceivedUpdate {
  item: WorkItem;
  update: OperationUpdate;
  answeredBy: AnsweredBy;
}

async function takeUpdate(served: ServedAgent, item: WorkItem): Promise<WorkOutcome> {
  const { mesh } = served;
  const { callId, service } = readOperation(item.subject);
  const given = readPayload(operationUpdateSchema, item, `the update of call ${callId}`);
  const ref = await sessionOfCall(mesh, callId, given);
  const update = withOwnState(served, { callId, service, ref }, given);
  const call = { ref, callId, pending: await mesh.sessions.pending.get({ ...ref, callId }) };
  const received = { item, update, answeredBy: sourceOf(update, service) };
  try {
    assertMayUpdate(served, call, { update, service });
    if (await hasOvertaken(mesh, call, update, item)) return again(item);
    return update.final
      ? await takeOutcome(served, call, received)
      : await takeProgress(served, call, received);
  } catch (thrown) {
    const error = MeshError.from(thrown);
    // A refused update may have been accepted before the call was known.
    if (error.code === 'permission_denied') await mesh.sessions.pending.release({ ...ref, callId }, item.key);
    if (!isOnlyLate(error, update)) throw thrown;
    mesh.log.info({ callId, service, reason: error.message }, 'acknowledged a late update');
    return done;
  }
}

/**
 * Tells whether an update came too late and nobody must look at it. A worker always tells how its job went,
 * also when the call was answered in another way, is past its deadline, or is gone with its session. An update
 * about a deleted session must not become a dead letter that other programs can read. Progress after the end
 * of a call is no news. An outcome of another program is different: that program must learn that it does not
 * count.
 */
function isOnlyLate({ code }: MeshError, { final, seq }: OperationUpdate): boolean {
  if (code === 'not_found') return seq !== undefined;
  return code === 'failed_precondition' && (!final || seq !== undefined);
}

/**
 * Takes an outcome: accepts it in the store, then gives it to the agent as a run. After the acceptance every
 * other answer is refused.
 */
async function takeOutcome(
  served: ServedAgent,
  found: LocatedCall,
  { item, update, answeredBy }: ReceivedUpdate,
): Promise<WorkOutcome> {
  const { mesh } = served;
  const response = responseOf(update);
  const { key } = item;
  const call = await checkedCall(mesh, found, response, { key, answeredBy });
  const { ref, callId, pending } = call;
  const callers = [pending?.invocationId, update.invocationId].filter((each) => each !== undefined);
  const claim = { key, digest: answerDigest(response), callers };
  const wakes = update.wake ?? true;
  const run = pending && wakes ? await runFor(mesh, call, pending, item.key) : undefined;
  const answer = await mesh.sessions.pending.accept({ ...ref, callId }, { ...claim, ...(run && { run }) });
  const isOver = withoutEffect(item, call, answer);
  if (isOver) return isOver;
  // Either the question or its answer was committed just now.
  if (!pending) return answer.state === 'accepted' ? again(item) : done;
  const headers = traceHeaders(item.headers);
  if (run) {
    const runOutcome = { run, response, update, answeredBy, headers };
    try {
      await startAnswerRun(served, { ...call, pending }, runOutcome);
    } catch (error) {
      // For example, the answer is too large for a message. Another answer may fit.
      if (!MeshError.from(error).retryable) await mesh.sessions.pending.release({ ...ref, callId }, key);
      throw error;
    }
    return done;
  }
  const event = {
    ...responseEvent(pending, update, response, { id: `${callId}/outcome`, willContinue: false }),
    actions: createEventActions({ stateDelta: update.stateDelta ?? {} }),
    customMetadata: { answeredBy },
  };
  await keep(mesh, { ref, callId }, event, headers);
  return done;
}

/**
 * Checks an outcome as an answer to its call. Returns the call as it is now: it may have been closed since it
 * was read, and then the store tells whether by this same outcome.
 *
 * @throws MeshError as {@link checkMessage}, for a call that is still open
 */
async function checkedCall(
  mesh: Mesh,
  call: LocatedCall,
  response: Record<string, unknown>,
  { key, answeredBy }: { key: string; answeredBy: AnsweredBy },
): Promise<LocatedCall> {
  const { ref, callId, pending } = call;
  // An answer that was accepted in time is not late when it is delivered again.
  if (!pending || (await mesh.sessions.pending.isReservedBy({ ...ref, callId }, key))) return call;
  try {
    await checkMessage(mesh, ref, messageOf(pending, response), { answeredBy });
    return call;
  } catch (error) {
    if (await mesh.sessions.pending.get({ ...ref, callId })) throw error;
    return { ref, callId, pending: undefined };
  }
}

/**
 * Returns the outcome of the delivery for an update that was not accepted and so changes nothing; undefined
 * for an accepted update.
 *
 * @throws MeshError `failed_precondition` for a call that has another answer; `not_found` for an unknown call
 */
function withoutEffect(
  item: WorkItem,
  { callId, pending }: LocatedCall,
  answer: AnswerState,
): WorkOutcome | undefined {
  if (answer.state === 'unknown') throw unknownCall(callId);
  if (answer.state === 'busy') return again(item);
  // Until the first update is in the log, it may still fail.
  if (answer.state === 'duplicate') return pending ? again(item) : done;
  if (answer.state === 'answered') throw callAnsweredError(callId);
  return undefined;
}

function again({ attempt }: WorkItem): WorkOutcome {
  return { done: false, delayMs: Math.min(busyMs * 2 ** Math.min(attempt - 1, 10), longestBusyMs) };
}

async function takeProgress(
  served: ServedAgent,
  call: LocatedCall,
  { item, update, answeredBy }: ReceivedUpdate,
): Promise<WorkOutcome> {
  const { mesh } = served;
  const { ref, callId, pending } = call;
  const { seq, wake = false } = update;
  if (!pending) {
    const state = await mesh.sessions.pending.stateOf({ ...ref, callId });
    throw state === 'unknown' ? unknownCall(callId) : callAnsweredError(callId);
  }
  if (seq !== undefined && !(await mesh.sessions.pending.noteProgress({ ...ref, callId }, seq))) return done;
  const response = responseOf(update);
  const headers = traceHeaders(item.headers);
  const id = seq === undefined ? `${callId}/update/${item.key}` : progressId(callId, seq, update.answers);
  if (wake) {
    // A worker may publish its ticket again after the queue has forgotten the id: this is the same run.
    const key = seq === undefined ? item.key : `progress/${update.answers ?? 0}/${seq}`;
    const run = await runFor(mesh, call, pending, key);
    await startAnswerRun(served, { ...call, pending }, { run, response, update, answeredBy, headers });
  } else {
    const event = responseEvent(pending, update, response, { id, willContinue: true });
    await keep(mesh, { ref, callId }, event, headers);
  }
  return done;
}

/**
 * Returns the event for an update that is kept without a run: an event of the agent that made the call, in
 * its invocation.
 */
function responseEvent(
  pending: PendingCall,
  { invocationId = pending.invocationId }: OperationUpdate,
  response: unknown,
  { id, willContinue }: { id: string; willContinue: boolean },
) {
  const { agent, branch, path, name } = pending;
  const functionResponse = responsePart(pending.id, name, response, willContinue);
  return createEvent({
    id,
    invocationId,
    author: agent,
    ...(branch !== undefined && { branch }),
    ...(path !== undefined && { nodeInfo: { path } }),
    content: { role: 'user', parts: [{ functionResponse }] },
  });
}

/** Commits the event, unless the call has its answer meanwhile. */
async function keep(
  mesh: Mesh,
  { ref, callId }: Pick<LocatedCall, 'ref' | 'callId'>,
  event: ReturnType<typeof createEvent>,
  headers: Headers,
): Promise<void> {
  const session: Session | undefined = await mesh.sessions.getSession({
    ...ref,
    config: { numRecentEvents: 0 },
  });
  if (!session) throw noSession(ref);
  const before = session.seq;
  const committed = await mesh.sessions.appendEvent({ session, event, aside: true, whileOpen: callId });
  // If the sequence number is unchanged, the run that follows the job has committed and published the event
  // already.
  if (session.seq > before) await publishEvent(mesh, session, committed, headers);
}

function responseOf({ response, error }: OperationUpdate): Record<string, unknown> {
  if (error !== undefined) return { error };
  const isRecord = typeof response === 'object' && response !== null && !Array.isArray(response);
  return isRecord ? { ...response } : { result: response ?? null };
}

import { createEvent, type Session } from '@agentmesh/agent';
import {
  type CallCount,
  endOfRun,
  failureEventId,
  type InvocationRef,
  incarnationOf,
  isRefused,
  logIndex,
  messageEventId,
  noSession,
  runName,
  wasAccepted,
} from '@agentmesh/agent/internal';
import type { WorkOutcome } from '@agentmesh/bus';
import { type Headers, MeshError, type SessionRef, traceIdOf } from '@agentmesh/protocol';
import { errorPlace } from '@agentmesh/service';
import { fencedSessions } from '../fencing/fenced-sessions.ts';
import type { Mesh } from '../mesh/mesh.ts';
import type { ServedAgent } from '../mesh/served-agent.ts';
import { auditRefusedMessage } from '../messages/audit.ts';
import { moveToDeadLetters } from '../messages/dead-letter.ts';
import { publishEnd, publishEvent } from '../messages/publish-event.ts';
import { stampReplica } from '../messages/stamp-replica.ts';
import { isOfCallee } from '../remote/call-service.ts';
import { closeChildCalls } from './close-calls.ts';
import type { DeliveredRun, Run } from './run.ts';
import { startNext } from './run-queue.ts';
import { isElsewhere, refuseId } from './take-lease.ts';

const done: WorkOutcome = { done: true };
/**
 * Pause before a retry when a server or a replica was unreachable, in ms: short, because the calls that failed
 * have tried for seconds.
 */
const retryMs = 250;
/**
 * Deliveries of a run whose callee answers that it cannot work now, as one that is busy or stops. The pause doubles up
 * to the longest one, in ms: together about three minutes. The run of a callee that gives no answer waits for it.
 */
const mostRefusals = 12;
const longestRetryMs = 30_000;

/**
 * Decides what follows a failed delivery: the queue delivers the run again if that can help; otherwise the
 * run ends with an error that all watchers see.
 */
export async function settle(
  served: ServedAgent,
  run: Run,
  delivery: DeliveredRun,
  thrown: unknown,
): Promise<WorkOutcome> {
  const { mesh, agent, stopping } = served;
  const { invocationId } = run;
  const error = MeshError.from(thrown, `agent ${agent.name} failed; its log has the cause`);
  const traceId = traceIdOf(delivery.item.headers);
  const log = mesh.log.child({ agent: agent.name, invocationId, session: run.session, traceId });
  if (stopping.aborted && error.retryable) return await giveBack(served, run, delivery, 0);
  if (error.code === 'aborted') {
    log.warn({ err: error }, 'stopped work on a run');
    return { done: false, takenOver: true };
  }
  const pauseMs = pauseBeforeRetry(error, delivery.item.attempt);
  if (pauseMs !== undefined) {
    log.warn({ err: error }, 'run failed for now; it will be tried again');
    return await giveBack(served, run, delivery, pauseMs);
  }
  if (error.code === 'cancelled') log.info({ reason: error.message }, 'run was cancelled');
  else if (isRefused(error)) log.info({ err: error }, 'refused a message');
  else if (lostSession(run, delivery, error)) log.info('the session of a run was deleted');
  else if (foundNoSession(delivery, error)) log.warn({ err: error }, 'a run found no session');
  else log.error({ at: errorPlace(error), err: error }, 'run failed');
  try {
    return await fail(served, run, delivery, error);
  } catch (settleError) {
    const { code, retryable } = MeshError.from(settleError);
    if (code === 'aborted') return { done: false, takenOver: true };
    if (!retryable) {
      log.error({ err: settleError }, 'the failure of a run cannot be committed; its end is recorded alone');
      return await endAlone(mesh, run, delivery, error).catch((endError: unknown) => {
        log.error({ err: endError }, 'the end of a run cannot be recorded');
        return bury(served, run, delivery, error);
      });
    }
    log.warn({ err: settleError }, 'could not record the failure of a run; it will be tried again');
    return await giveBack(served, run, delivery, retryMs);
  }
}

/** Returns the time after which a run that has failed is delivered again, in ms; undefined if that cannot help. */
export function pauseBeforeRetry(error: MeshError, attempt: number): number | undefined {
  if (!error.retryable) return undefined;
  if (!isOfCallee(error)) return retryMs;
  return attempt < mostRefusals ? Math.min(retryMs * 2 ** (attempt - 1), longestRetryMs) : undefined;
}

/** Tells whether a run failed because its session was deleted after the run had begun. */
function lostSession(run: Run, { token }: DeliveredRun, { code, message }: MeshError): boolean {
  const gone = noSession(sessionOf(run));
  return token !== undefined && code === gone.code && message === gone.message;
}

/** Tells whether a run began after its session had been deleted, or was sent for a session that nobody had made. */
function foundNoSession({ session }: DeliveredRun, { code }: MeshError): boolean {
  return !session && code === 'not_found';
}

/** Ends a run without an event: its session must not stay with a run that never goes on. */
async function endAlone(
  mesh: Mesh,
  run: Run,
  { carrier }: DeliveredRun,
  error: MeshError,
): Promise<WorkOutcome> {
  const { invocationId, resume } = run;
  const ref = { ...sessionOf(run), invocationId, resume };
  const end = { status: 'failed', error: { code: error.code, message: error.message } } as const;
  const record = await mesh.sessions.invocations.end(ref, end);
  await publishEnd(mesh, ref, { ...(endOfRun(record, resume) ?? end), lastSeq: 0 }, carrier);
  await startNext(mesh, ref);
  return done;
}

/**
 * Ends a run that the store does not let this service end, as when its user has lost its rights. A failure that repeats
 * every time must not come back every second, so an operator gets the run, and the client that waits gets the error.
 */
async function bury(
  { mesh, agent }: ServedAgent,
  run: Run,
  { item, carrier }: DeliveredRun,
  error: MeshError,
): Promise<WorkOutcome> {
  const { invocationId, resume } = run;
  await moveToDeadLetters(mesh, { kind: 'agent', name: agent.name }, item, error);
  const ref = { ...sessionOf(run), invocationId, resume };
  await publishEnd(mesh, ref, { status: 'failed', lastSeq: 0, error: error.toWire() }, carrier);
  return done;
}

/** Ends a failed run. A refused message leaves nothing in the session. */
async function fail(
  served: ServedAgent,
  run: Run,
  delivery: DeliveredRun,
  error: MeshError,
): Promise<WorkOutcome> {
  const record = await served.mesh.sessions.invocations.get({
    ...sessionOf(run),
    invocationId: run.invocationId,
  });
  if (isElsewhere(run, record)) return await refuseId(served, run, delivery.item);
  if (isRefused(error) && isUnsaid(run, delivery)) return await refuse(served, run, delivery, error);
  // The run found no session. One that is made anew meanwhile is not its own.
  if (foundNoSession(delivery, error)) return await endAlone(served.mesh, run, delivery, error);
  const { agent, version } = served;
  await endAsFailed(served.mesh, run, { ...delivery, agent: agent.name, version }, error);
  return done;
}

/** A failed delivery: the agent that had it, the session that it has read, and the fencing token. */
interface FailedDelivery {
  agent: string;
  /** The version of the replica, where one of the agent itself ends the run. */
  version?: string | undefined;
  carrier: Headers;
  token: number | undefined;
  session?: Session | undefined;
  calls?: CallCount | undefined;
}

/**
 * Commits the failure to the session if this invocation holds it, and publishes the end. The commit also ends
 * the run, and closes the calls that a cancelled invocation has left open. Then starts the next run of the
 * session.
 */
export async function endAsFailed(
  mesh: Mesh,
  run: Run,
  { agent, version, carrier, ...delivery }: FailedDelivery,
  error: MeshError,
): Promise<void> {
  const { invocationId, resume } = run;
  const ref = { ...sessionOf(run), invocationId, resume };
  const incarnation = run.incarnation ?? (delivery.session && incarnationOf(delivery.session));
  const token = delivery.token ?? (await tokenFor(mesh, incarnation, ref));
  const sessions = fencedSessions(mesh.sessions, token, { calls: delivery.calls });
  const headRequest = { ...sessionOf(run), config: { numRecentEvents: 0 } };
  const session = token === undefined ? undefined : await sessions.getSession(headRequest);
  const { code, message } = error;
  const end = { status: 'failed', error: { code, message } } as const;
  if (session) {
    const open = code === 'cancelled' ? await closeChildCalls(mesh, ref, sessions) : [];
    const failure = createEvent({
      id: failureEventId(run),
      invocationId,
      author: agent,
      errorCode: error.code,
      errorMessage: error.message,
      ...(open.length > 0 && { actions: { closedCalls: open.map(({ id }) => id) } }),
    });
    stampReplica(mesh, { version })(failure);
    // One step: either all of it is true, or another end of the run.
    const committed = await sessions.appendEvent({ session, event: failure, end: { resume, as: end } });
    await publishEvent(mesh, session, committed, carrier);
  }
  // If the session is gone, the record with the fencing token is gone too. The run may have ended before.
  const record = session ? undefined : await mesh.sessions.invocations.end(ref, end);
  const recorded = record && endOfRun(record, resume);
  const told = recorded ?? ({ status: 'failed', error: error.toWire() } as const);
  await publishEnd(mesh, ref, { ...told, lastSeq: session?.seq ?? 0 }, carrier);
  await startNext(mesh, ref);
}

/**
 * Ends a run whose message was refused. Nothing is committed to the session. The clients that wait for the
 * run get the reason.
 */
async function refuse(
  { mesh, agent }: ServedAgent,
  run: Run,
  { item, token, carrier }: DeliveredRun,
  error: MeshError,
): Promise<WorkOutcome> {
  const { invocationId, resume, answeredBy } = run;
  const ref = { ...sessionOf(run), invocationId, resume };
  const { code, message } = error;
  // A message that came over the bus was acknowledged before: no client waits for its run.
  // The end of a job, and a deadline, may come too late: the call has its outcome then.
  if (answeredBy?.via === 'nats' && wasAccepted(answeredBy))
    await moveToDeadLetters(mesh, { kind: 'agent', name: agent.name }, item, error);
  const refused = { session: sessionOf(run), message: run.message, answeredBy };
  auditRefusedMessage(mesh, `${run.session}/${runName(run)}`, refused, error);
  const end = { status: 'failed', error: { code, message }, refused: true } as const;
  await fencedSessions(mesh.sessions, token).invocations.end(ref, end);
  await publishEnd(mesh, ref, { status: 'failed', lastSeq: 0, error: error.toWire() }, carrier);
  await startNext(mesh, ref);
  return done;
}

/**
 * Tells whether nothing of the run is committed. An error that user code throws later may carry the refusal
 * mark of another run.
 */
function isUnsaid(run: Run, { session }: DeliveredRun): boolean {
  return !session || !logIndex(session.events).has(messageEventId(run, run.session));
}

/**
 * Takes the session for a run that failed before it had the session, so that the failure can be committed.
 * Returns undefined if another run holds it, or the session is another one by now: nothing is disturbed.
 */
async function tokenFor(
  mesh: Mesh,
  incarnation: string | undefined,
  ref: InvocationRef,
): Promise<number | undefined> {
  const taken = await mesh.sessions.leases.take(ref, { run: '', whenBusy: 'reject', incarnation });
  return taken.state === 'held' ? taken.token : undefined;
}

/** Hands the run back to the queue for another delivery, without counting a dead process. */
async function giveBack(
  { mesh }: ServedAgent,
  run: Run,
  { token }: DeliveredRun,
  delayMs: number,
): Promise<WorkOutcome> {
  const ref = { ...sessionOf(run), invocationId: run.invocationId };
  if (token !== undefined) {
    // Best effort: if this fails, one death too many is counted for the run.
    await mesh.sessions.leases.giveBack(ref, token).catch(() => {});
  }
  return { done: false, delayMs };
}

function sessionOf({ app, user, session }: Run): SessionRef {
  return { appName: app, userId: user, sessionId: session };
}

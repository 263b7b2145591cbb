import {
  clientMetadata,
  endOfRun,
  type HeldSession,
  type InvocationRecord,
  type InvocationRef,
  noSession,
  plainMessageEvent,
  type TakenSession,
  type TakeOptions,
  type UserLimits,
  wasAccepted,
} from '@agentmesh/agent/internal';
import type { WorkItem, WorkOutcome } from '@agentmesh/bus';
import {
  type AttemptMark,
  type Caller,
  deadlineOf,
  type Event,
  header,
  MeshError,
  meshTime,
  traceIdOf,
} from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { countWaited } from '../mesh/metrics.ts';
import { tooManyWaiting } from '../mesh/run-limits.ts';
import type { ServedAgent } from '../mesh/served-agent.ts';
import { moveToDeadLetters } from '../messages/dead-letter.ts';
import { publishEnd } from '../messages/publish-event.ts';
import { endRun } from './end-run.ts';
import type { DeliveredRun, OpenRun, Run } from './run.ts';
import { startNext } from './run-queue.ts';
import { rejection, waitForTurn, waitingRun } from './wait-for-turn.ts';

/**
 * Number of processes that may die at a run, each before it commits anything, until the run becomes a dead
 * letter.
 */
const maxBegun = 5;

/** Pause until the queue delivers a copy of a running run again, in ms. */
const duplicateMs = 1_000;

/** The longest wait that is believed, in ms. */
const longestWaitMs = 7 * 86_400_000;

/** Asks for the session of a run that looks new, unless its deadline has passed. */
export function askForLease(
  served: ServedAgent,
  run: Run,
  delivery: DeliveredRun,
  { ref, first }: Pick<TakeRequest, 'ref' | 'first'>,
): Promise<TakenSession> | undefined {
  if (isTooLate(delivery.item)) return undefined;
  const options = { ...takeOptions(served, run, delivery), onlyNew: true, first };
  const taking = served.mesh.sessions.leases.take(ref, options);
  // The session may turn out to be gone first.
  taking.catch(() => {});
  return taking;
}

/** Tells whether the deadline of a command has passed. */
export function isTooLate({ headers }: WorkItem): boolean {
  return (deadlineOf(headers) ?? Number.POSITIVE_INFINITY) <= meshTime();
}

/** Returns the event of the message, unless its commit needs a look at the session. */
export function firstEvent(
  { services }: ServedAgent,
  run: Run,
  caller: Caller | undefined,
): Event | undefined {
  const place = { userId: run.user, sessionId: run.session };
  const also = { pluginManager: services.pluginManager, customMetadata: clientMetadata(run.client) };
  return plainMessageEvent({ ...run, caller, ...also }, place, run.message);
}

interface TakeRequest {
  ref: InvocationRef;
  /** The place of an earlier run of the session that has not arrived in its queue. */
  earlier: number | undefined;
  /** True for a caller that has not looked at the invocation; the result may then be `begun`. */
  onlyNew?: boolean;
  /** The event of the message, which may be committed with the taking. */
  first?: Event | undefined;
  /** The answer to the same request, when it was sent before. */
  taking?: Promise<TakenSession> | undefined;
}

/**
 * Takes the session. Returns the session, or the outcome of a run that cannot begin now.
 *
 * @throws MeshError `not_found` when the session is gone, or is not the session for which the run was
 * accepted; `internal` when too many processes died at the run
 */
export async function takeLease(
  served: ServedAgent,
  run: Run,
  delivery: OpenRun,
  { ref, earlier, onlyNew = false, first, taking }: TakeRequest,
): Promise<HeldSession | WorkOutcome | 'begun'> {
  const { mesh } = served;
  const take = () =>
    mesh.sessions.leases.take(ref, { ...takeOptions(served, run, delivery), earlier, onlyNew, first });
  const taken = await (taking ?? take());
  if (taken.state === 'begun') return taken.state;
  if (taken.state === 'duplicate') {
    mesh.log.info(
      {
        invocationId: run.invocationId,
        session: run.session,
        traceId: traceIdOf(delivery.item.headers),
      },
      'a copy of the run is at work; this one waits for its end',
    );
    return { done: false, delayMs: duplicateMs };
  }
  if (taken.state === 'busy') {
    if (taken.isFull) served.fullShares.note(run.app, run.user);
    return await waitForTurn(mesh, ref, run, { ...taken, isBehind: earlier !== undefined }, delivery);
  }
  if (taken.state === 'refused') return await refuseWaiting(mesh, ref, delivery);
  if (taken.state === 'elsewhere') return await refuseId(served, run, delivery.item);
  if (taken.state === 'gone') throw noSession(ref);
  if (taken.state === 'ended') {
    const earlierEnd = endOfRun(await mesh.sessions.invocations.get(ref), run.resume);
    return await endRun(mesh, ref, earlierEnd ?? { status: 'completed' }, delivery);
  }
  if (taken.state === 'free') throw new MeshError('internal', 'the store gave no session to a run');
  delivery.token = taken.token;
  if (taken.cancelled !== undefined) delivery.cancelled = taken.cancelled;
  noteWaited(served, delivery);
  if (taken.begun > maxBegun) throw await poisoned(served, delivery, taken.begun);
  return taken;
}

/** Counts the time that a run waited for its session, once for each wait. */
function noteWaited({ agent }: ServedAgent, { item }: DeliveredRun): void {
  const { waitsSince } = waitOf(item);
  if (waitsSince !== undefined) countWaited(agent.name, waitsSince);
}

/** Returns the mark of the attempt that begins now with this message. */
export function markOf(item: WorkItem, number: number): AttemptMark {
  return { number, began: meshTime(), ...waitOf(item) };
}

/** Returns the begin of the wait that ended with the first delivery of this message; empty for other deliveries. */
function waitOf({ headers, attempt }: WorkItem): { waitsSince?: number } {
  const waitsSince = Number(headers[header.waitsSince] || Number.NaN);
  // Any program may send the header: a time that cannot be true would spoil the figures.
  const isTrue = waitsSince > meshTime() - longestWaitMs && waitsSince < meshTime() + longestWaitMs;
  return attempt === 1 && isTrue ? { waitsSince } : {};
}

/**
 * Puts a run into the queue of its session without a look at the session, when the user had the full share a
 * moment ago. Returns undefined for a run that may begin, and for a run about which more must be known.
 */
export async function waitAtOnce(
  served: ServedAgent,
  run: Run,
  delivery: DeliveredRun,
): Promise<WorkOutcome | undefined> {
  const { mesh, fullShares } = served;
  const { app: appName, user: userId, session: sessionId, invocationId } = run;
  if (run.fresh || run.hop > 0 || run.resume !== undefined || run.whenBusy !== 'enqueue') return undefined;
  if (!fullShares.has(appName, userId)) return undefined;
  const ref = { appName, userId, sessionId, invocationId };
  const options = { ...takeOptions(served, run, delivery), onlyWaits: true };
  const taken = await mesh.sessions.leases.take(ref, options);
  if (taken.state === 'refused') return await refuseWaiting(mesh, ref, delivery);
  if (taken.state !== 'busy') {
    fullShares.forget(appName, userId);
    return undefined;
  }
  if (taken.isFull) fullShares.note(appName, userId);
  return await waitForTurn(mesh, ref, run, { ...taken, isBehind: false }, delivery);
}

function takeOptions(served: ServedAgent, run: Run, delivery: DeliveredRun): TakeOptions {
  return {
    run: JSON.stringify(waitingRun(served, run, delivery)),
    whenBusy: run.whenBusy,
    agent: served.agent.name,
    ...(run.whenBusy === 'reject' && { rejection }),
    delivery: { part: partOf(run), message: delivery.item.key },
    place: delivery.item.place,
    incarnation: run.incarnation,
    limits: limitsOf(served.mesh, run),
  };
}

/**
 * Returns the limits for a run. A later hop belongs to a run that counts already. The outcome of a call is never
 * refused: it was accepted before, and comes once.
 */
function limitsOf({ limits }: Mesh, { app, user, hop, answeredBy }: Run): UserLimits | undefined {
  if (hop > 0) return undefined;
  const running = limits.running(app);
  if (answeredBy && wasAccepted(answeredBy)) return { running };
  const most = limits.waiting(app);
  return { running, waiting: { most, refusal: tooManyWaiting(app, user, most) } };
}

/** Tells the end of a run that was refused because its user has too many waiting runs. */
async function refuseWaiting(
  mesh: Mesh,
  ref: InvocationRef,
  { carrier }: DeliveredRun,
): Promise<WorkOutcome> {
  const { appName, userId } = ref;
  const end = tooManyWaiting(appName, userId, mesh.limits.waiting(appName));
  mesh.log.info({ ...ref, err: end.error }, 'refused a run');
  await publishEnd(mesh, ref, { ...end, lastSeq: 0 }, carrier);
  return { done: true };
}

/**
 * Tells whether a run that begins an invocation has the id of a run of another session of the user. The store
 * itself refuses runs that continue an invocation of another session.
 */
export function isElsewhere({ session, resume }: Run, { home }: Pick<InvocationRecord, 'home'>): boolean {
  return resume === undefined && home !== undefined && home !== session;
}

/**
 * Moves a run command to the dead letters because a run of another session has the id of its invocation. The
 * record and the watchers of this id belong to the other run.
 */
export async function refuseId(served: ServedAgent, run: Run, item: WorkItem): Promise<WorkOutcome> {
  const { mesh, agent } = served;
  const { app, user, session, invocationId } = run;
  const error = new MeshError(
    'already_exists',
    `a run of another session has the invocation id ${invocationId}; choose a new id for each run, or leave it out`,
  );
  await moveToDeadLetters(mesh, { kind: 'agent', name: agent.name }, item, error);
  await startNext(mesh, { appName: app, userId: user, sessionId: session });
  return { done: true };
}

/** Names the part of the invocation that the run is: its hop, and the continuation to which it belongs. */
function partOf({ hop, resume }: Run): string {
  return resume === undefined ? `hop:${hop}` : `hop:${hop}:${resume}`;
}

async function poisoned(served: ServedAgent, { item }: DeliveredRun, begun: number): Promise<MeshError> {
  const error = new MeshError(
    'internal',
    `${begun - 1} processes died at this run, each before its first step was done; it was moved to the dead letters`,
  );
  await moveToDeadLetters(served.mesh, { kind: 'agent', name: served.agent.name }, item, error);
  return error;
}

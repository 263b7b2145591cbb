import type { Session } from '@agentmesh/agent';
import {
  endOfRun,
  type InvocationRef,
  logIndex,
  messageEventId,
  noSession,
  type RunEnd,
  runInvocation,
  runKey,
  turnNeed,
} from '@agentmesh/agent/internal';
import type { WorkItem, WorkOutcome } from '@agentmesh/bus';
import {
  deadlineOf,
  type Headers,
  header,
  MeshError,
  runCommandSchema,
  traceIdOf,
} from '@agentmesh/protocol';
import { openAnswers } from '../answers/sealed-answers.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { createTally, logRunEnd, logTakeover } from '../mesh/outcomes.ts';
import type { ServedAgent } from '../mesh/served-agent.ts';
import { hopHeaders } from '../messages/carrier.ts';
import { moveToDeadLetters } from '../messages/dead-letter.ts';
import { signalOf } from '../messages/deadline.ts';
import { publishEnd, publishEvent, refOf } from '../messages/publish-event.ts';
import { readPayload } from '../messages/read-payload.ts';
import { stampReplica } from '../messages/stamp-replica.ts';
import { transferPort } from '../remote/transfer-port.ts';
import { checkContinuation } from './check-continuation.ts';
import { fencedSessions } from './fenced-sessions.ts';
import { keepAlive } from './keep-alive.ts';
import { type DeliveredRun, type Run, sealRun } from './run.ts';
import { startNext } from './run-queue.ts';
import { settle } from './settle-run.ts';
import { waitForTurn, waitingRun } from './wait-for-turn.ts';

const done: WorkOutcome = { done: true };
/**
 * How many processes may die at a run, each before it commits anything, until the run becomes a dead letter.
 */
const maxBegun = 5;
/** Pause until the queue delivers a copy of a running run again, in ms. */
const duplicateMs = 5_000;

/**
 * Works on a run command. The order matters: commit an event, publish it, and in the end acknowledge the
 * command. A later delivery goes on from the committed events.
 */
export async function handleRun(served: ServedAgent, item: WorkItem): Promise<WorkOutcome> {
  const log = served.mesh.log.child({ agent: served.agent.name, traceId: traceIdOf(item.headers) });
  let run: Run;
  try {
    run = readRun(served, item);
  } catch (error) {
    log.error({ err: error, subject: item.subject }, 'moved an unreadable run command to the dead letters');
    await moveToDeadLetters(
      served.mesh,
      { kind: 'agent', name: served.agent.name },
      item,
      MeshError.from(error),
    );
    return done;
  }
  const carrier = { ...hopHeaders(item.headers), ...(run.resume && { [header.resume]: run.resume }) };
  const delivery: DeliveredRun = { item, carrier, token: undefined, tally: createTally() };
  try {
    const outcome = await advance(served, await sealRun(served.mesh, run), delivery);
    if (delivery.session) served.mesh.sessionCache.keep(delivery.session);
    logRunEnd(log, run, delivery.tally, 'completed');
    return outcome;
  } catch (error) {
    const outcome = await settle(served, run, delivery, error);
    logRunEnd(log, run, delivery.tally, outcome.done ? 'failed' : 'given back', MeshError.from(error).code);
    return outcome;
  }
}

function readRun({ agent, app }: ServedAgent, item: WorkItem): Run {
  const command = readPayload(runCommandSchema, item, 'the run command');
  if (command.hop === 0 && command.message === undefined) {
    throw new MeshError(
      'invalid_argument',
      'the run command has no message; only the next hop of a run has none',
    );
  }
  return {
    ...command,
    invocationId: command.invocationId ?? `e-${item.key}`,
    app: command.app ?? app ?? agent.name,
    // Made from the key of the command, so every delivery gets the same id.
    session: command.session ?? `s-${item.key}`,
    fresh: command.session === undefined,
  };
}

async function advance(served: ServedAgent, run: Run, delivery: DeliveredRun): Promise<WorkOutcome> {
  const { mesh } = served;
  let session = await openRunSession(served, run);
  delivery.session = session;
  const { invocationId, resume } = run;
  const ref = { ...refOf(session), invocationId, resume };
  const recordedEnd = endOfRun(await mesh.sessions.invocations.get(ref), resume);
  if (recordedEnd) return await end(mesh, ref, recordedEnd, session, delivery);
  await checkContinuation(mesh, run, session);
  const handover = handedElsewhere(served, run, session);
  if (handover === 'taken') return done;
  if (handover) return await handOver(served, run, handover.to, delivery.carrier);
  if ((deadlineOf(delivery.item.headers) ?? Number.POSITIVE_INFINITY) <= Date.now()) {
    throw new MeshError('deadline_exceeded', 'the run waited in its queue until its deadline');
  }
  const taken = await mesh.sessions.leases.take(ref, {
    run: JSON.stringify(waitingRun(served, run, delivery)),
    whenBusy: run.whenBusy,
    delivery: { part: partOf(run), message: delivery.item.key },
  });
  if (taken.state === 'duplicate') {
    mesh.log.info(
      { invocationId, session: run.session },
      'a copy of the run is at work; this one waits for its end',
    );
    return { done: false, delayMs: duplicateMs };
  }
  if (taken.state === 'busy') return await waitForTurn(mesh, ref, run, taken.holder, delivery);
  if (taken.state === 'gone') throw noSession(ref);
  if (taken.state === 'ended') {
    const earlierEnd = endOfRun(await mesh.sessions.invocations.get(ref), resume);
    return await end(mesh, ref, earlierEnd ?? { status: 'completed' }, session, delivery);
  }
  delivery.token = taken.token;
  if (taken.cancelled !== undefined) throw new MeshError('cancelled', taken.cancelled);
  if (taken.begun > maxBegun) throw await poisoned(served, delivery, taken.begun);
  // Others may have committed events since the session was read. From now on they cannot commit.
  const seqBefore = session.seq;
  session = (await mesh.sessionCache.refresh(session)) ?? (await openRunSession(served, run));
  delivery.session = session;
  if (session.seq > seqBefore) {
    const newHandover = handedElsewhere(served, run, session);
    // This is a copy of the run: it read the session before another delivery handed over.
    if (newHandover === 'taken') return done;
    if (newHandover) return await handOver(served, run, newHandover.to, delivery.carrier);
  }
  const next = await think(served, run, delivery, session, taken.token);
  if (next !== undefined) return await handOver(served, run, next, delivery.carrier);
  const completed = { status: 'completed', waits: mayGoOn(session, invocationId) } as const;
  const ended = await fencedSessions(mesh.sessions, taken.token).invocations.end(ref, completed);
  return await end(mesh, ref, endOfRun(ended, resume) ?? completed, session, delivery);
}

/** Names the part of the invocation that the run is: its hop, and the continuation to which it belongs. */
function partOf({ hop, resume }: Run): string {
  return resume === undefined ? `hop:${hop}` : `hop:${hop}:${resume}`;
}

/** Tells whether the invocation has left calls open, so that an answer to them may continue it. */
function mayGoOn({ events }: Session, invocationId: string): boolean {
  return logIndex(events)
    .ofInvocation(invocationId)
    .some(({ longRunningToolIds = [] }) => longRunningToolIds.length > 0);
}

/**
 * Lets the agent work until it is done or hands over. Returns the name of the next agent when that agent runs
 * elsewhere.
 */
async function think(
  { mesh, agent, stopping, services, ...served }: ServedAgent,
  run: Run,
  { item, carrier, tally }: DeliveredRun,
  session: Session,
  token: number,
): Promise<string | undefined> {
  let next: string | undefined;
  const ref = { ...refOf(session), invocationId: run.invocationId };
  using cancel = served.cancellations.signalOf(run.invocationId);
  using until = signalOf(item.headers, stopping, cancel.signal);
  using _alive = keepAlive(mesh, ref, token, cancel);
  // The queue counts the deliveries of one message, but a run that waited for its turn came as several
  // messages.
  const { number: attempt } = await mesh.sessions.invocations.beginAttempt(ref, partOf(run));
  tally.attempt = attempt;
  const ids = { agent: agent.name, invocationId: run.invocationId, session: run.session };
  logTakeover(mesh.log, attempt, ids, () => logIndex(session.events).ofInvocation(run.invocationId));
  const newMessage = run.message && (await openAnswers(mesh, refOf(session), run.message));
  const events = runInvocation({
    ...services,
    agent,
    session,
    sessionService: fencedSessions(mesh.sessions, token),
    invocationId: run.invocationId,
    ...(run.resume !== undefined && { resume: run.resume }),
    ...(newMessage && { newMessage }),
    ...(run.stateDelta && { stateDelta: run.stateDelta }),
    ...(run.answeredBy && { answeredBy: run.answeredBy }),
    runConfig: run.runConfig,
    carrier: { ...carrier, [header.token]: String(token) },
    attempt,
    operationSubject: (callId) => mesh.subjects.operation(agent.name, callId),
    transfers: transferPort({ mesh, agent }, (to) => {
      next = to;
    }),
    stamp: stampReplica(mesh),
    abortSignal: until.signal,
  });
  for await (const event of events) {
    tally.note(event);
    await publishEvent(mesh, session, event, carrier);
  }
  return next;
}

async function poisoned(served: ServedAgent, { item }: DeliveredRun, begun: number): Promise<MeshError> {
  const error = new MeshError(
    'internal',
    `${begun - 1} processes died at this run, each before its first step was done; it was moved to the dead letters`,
  );
  await moveToDeadLetters(served.mesh, { kind: 'agent', name: served.agent.name }, item, error);
  return error;
}

/** Publishes the end of the run and starts the next run of the session. A second delivery repeats both. */
async function end(
  mesh: Mesh,
  ref: InvocationRef,
  ended: RunEnd,
  { seq }: Session,
  { carrier }: DeliveredRun,
): Promise<WorkOutcome> {
  await publishEnd(mesh, ref, { ...ended, lastSeq: seq }, carrier);
  await startNext(mesh, ref);
  return done;
}

/**
 * Tells whether the invocation was handed to a remote agent. If it was, only the publication of the next hop
 * may be missing: while no event of the other agents is in the log, an earlier delivery may have died before
 * it published the hop. Transfers within a step of a workflow do not count here.
 */
function handedElsewhere(
  served: ServedAgent,
  run: Run,
  { id: sessionId, events }: Session,
): { to: string } | 'taken' | undefined {
  const index = logIndex(events);
  const messageAt = index.positionOf(messageEventId(run, sessionId));
  // The events from before the continuation must not be handed over again.
  if (messageAt === undefined && run.resume !== undefined) return undefined;
  const ownEvents = index
    .ofInvocations([run.invocationId], messageAt)
    .filter(({ nodeInfo }) => nodeInfo === undefined);
  const at = ownEvents.findLastIndex(({ actions }) => actions.transferToAgent !== undefined);
  const to = ownEvents[at]?.actions.transferToAgent;
  if (to === undefined || isHere(served, to)) return undefined;
  return ownEvents.slice(at).every(({ author = '' }) => isHere(served, author)) ? { to } : 'taken';
}

function isHere({ agent }: ServedAgent, name: string): boolean {
  const namedAgent = agent.findAgent(name);
  return namedAgent !== undefined && !namedAgent.isRemote;
}

async function openRunSession(
  { mesh: { sessions, sessionCache }, agent, services }: ServedAgent,
  run: Run,
): Promise<Session> {
  const request = { appName: run.app, userId: run.user, sessionId: run.session };
  const ofApp = services.contextCompactors ?? [];
  const need = turnNeed(agent, { ofApp, message: run.message });
  const session = await sessionCache.open({ ...request, invocationId: run.invocationId }, need);
  if (session) return session;
  if (run.fresh) return await sessions.createSession(request);
  throw new MeshError(
    'not_found',
    `agent ${agent.name} got a run for session ${run.session} of user ${run.user}, which does not exist`,
  );
}

/**
 * Publishes the next hop before this one is acknowledged. The message id keeps a second publication from
 * becoming a second hop.
 */
async function handOver({ mesh }: ServedAgent, run: Run, to: string, carrier: Headers): Promise<WorkOutcome> {
  const hop = run.hop + 1;
  const { message: _message, stateDelta: _delta, fresh: _fresh, ...rest } = run;
  await mesh.bus.enqueue(
    mesh.subjects.agentRun(to),
    { ...rest, hop },
    { messageId: `${runKey(run)}:${hop}`, headers: hopHeaders(carrier) },
  );
  mesh.log.debug({ invocationId: run.invocationId, to, hop }, 'handed over');
  return done;
}

import type { Session } from '@agentmesh/agent';
import {
  addEvent,
  clientMetadata,
  endOfRun,
  type HeldSession,
  type InvocationRecord,
  type InvocationRef,
  incarnationOf,
  logIndex,
  messageEventId,
  runInvocation,
  type TakenSession,
  turnNeed,
} from '@agentmesh/agent/internal';
import type { WorkItem, WorkOutcome } from '@agentmesh/bus';
import { type Caller, type Event, header, MeshError, meshTime, traceIdOf } from '@agentmesh/protocol';
import { sourceIn } from '../answers/answer-source.ts';
import { openAnswers } from '../answers/sealed-answers.ts';
import { fencedSessions } from '../fencing/fenced-sessions.ts';
import { keepAlive } from '../fencing/keep-alive.ts';
import { operationSubjects } from '../mesh/addressed-call.ts';
import { countDelivery } from '../mesh/metrics.ts';
import { createTally, logRunEnd, logTakeover } from '../mesh/outcomes.ts';
import type { ServedAgent } from '../mesh/served-agent.ts';
import { auditConfirmations } from '../messages/audit.ts';
import { hopHeaders } from '../messages/carrier.ts';
import { signalOf } from '../messages/deadline.ts';
import { endingHeaders, publishEvent, refOf } from '../messages/publish-event.ts';
import { stampReplica } from '../messages/stamp-replica.ts';
import { transferPort } from '../remote/transfer-port.ts';
import { checkContinuation } from './check-continuation.ts';
import { findEarlier, isAlone } from './earlier-run.ts';
import { completeRun, endingOf, endRun, saidLastWord } from './end-run.ts';
import { continueElsewhere, handOver } from './hand-over.ts';
import { linkEarlier } from './link-earlier.ts';
import { dropUnreadable, readRun } from './read-run.ts';
import { type DeliveredRun, type OpenRun, type Run, sealRun } from './run.ts';
import { settle } from './settle-run.ts';
import {
  askForLease,
  firstEvent,
  isElsewhere,
  isTooLate,
  markOf,
  refuseId,
  takeLease,
  waitAtOnce,
} from './take-lease.ts';

/**
 * Works on a run command. The order matters: commit an event, publish it, and in the end acknowledge the
 * command. A later delivery goes on from the committed events.
 */
export async function handleRun(served: ServedAgent, item: WorkItem): Promise<WorkOutcome> {
  let run: Run;
  try {
    run = readRun(served, item);
  } catch (error) {
    return await dropUnreadable(served, item, MeshError.from(error));
  }
  countDelivery('run', served.agent.name, item.attempt);
  const { log } = served.mesh;
  // Not a logger of its own: that would cost more than the line.
  const by = { agent: served.agent.name, traceId: traceIdOf(item.headers) };
  const carrier = { ...hopHeaders(item.headers), ...(run.resume && { [header.resume]: run.resume }) };
  const delivery: DeliveredRun = {
    item,
    arrived: meshTime(),
    carrier,
    token: undefined,
    tally: createTally('run', served.agent.name, { ...run, agent: served.agent, headers: item.headers }),
  };
  try {
    const ref = { appName: run.app, userId: run.user, sessionId: run.session };
    run = { ...run, answeredBy: await sourceIn(served.mesh, item.headers, { ...run, ...ref }) };
    const outcome = await advance(served, await sealRun(served.mesh, run), delivery);
    if (delivery.session) served.mesh.sessionCache.keep(delivery.session);
    logRunEnd(log, run, by, delivery.tally, 'completed');
    return outcome;
  } catch (error) {
    const outcome = await settle(served, run, delivery, error);
    const { code } = MeshError.from(error);
    logRunEnd(log, run, by, delivery.tally, outcome.done ? 'failed' : 'given back', code);
    return outcome;
  }
}

/** Takes a run to its end, to the next agent, or back to the queue. Each stage may decide the outcome. */
async function advance(served: ServedAgent, run: Run, delivery: DeliveredRun): Promise<WorkOutcome> {
  const { mesh } = served;
  const { invocationId, resume } = run;
  const waiting = await waitAtOnce(served, run, delivery);
  if (waiting) return waiting;
  const ref = { appName: run.app, userId: run.user, sessionId: run.session, invocationId, resume };
  const isNew = looksNew(run, delivery.item);
  const isFirst = isAlone(mesh, served.agent.name, delivery.item);
  const caller = await mesh.callers.read(delivery.item.headers, ref);
  const first = isNew ? firstEvent(served, run, caller) : undefined;
  const opening = openRunSession(served, run);
  // Behind the read on the same connection: the session has changed between the two only if the number says so.
  const taking =
    isNew && isFirst && !run.fresh ? askForLease(served, run, delivery, { ref, first }) : undefined;
  const [session, earlier, record] = await Promise.all([
    opening,
    isFirst ? undefined : findEarlier(mesh, run, delivery.item.place),
    isNew ? undefined : mesh.sessions.invocations.get(ref),
  ]);
  const open: OpenRun = Object.assign(delivery, { session });
  const taken = await takeSession(served, run, open, { ref, earlier, record, first, taking });
  if ('done' in taken) return taken;
  const outcomeOfNews = await catchUp(served, run, open, taken);
  if (outcomeOfNews) return outcomeOfNews;
  const next = await runHop(served, run, open, { ...taken, caller });
  if (next !== undefined) return await handOver(served, run, next, open);
  const { end, lastSeq, isIdle } = await completeRun(mesh, ref, open, taken.token);
  return await endRun(mesh, ref, end, open, { lastSeq, isIdle, mark: taken.mark });
}

/** Tells whether nobody may have worked on the run before, as far as its command says. */
function looksNew({ hop, resume }: Run, { attempt }: WorkItem): boolean {
  return hop === 0 && resume === undefined && attempt === 1;
}

/** The things that are known of a run before it has the session. */
interface Beginning {
  ref: InvocationRef;
  /** The place of a run that goes before. */
  earlier: number | undefined;
  /** The record of the invocation; undefined for a run that looks new. */
  record: InvocationRecord | undefined;
  /** The event of the message, which may be committed with the taking of the session. */
  first: Event | undefined;
  /** The answer to a request for the session that is on its way. */
  taking: Promise<TakenSession> | undefined;
}

/**
 * Takes the session, or returns the outcome of a run that needs no work here or cannot begin now. A run that looks
 * new takes it at once; for any other run the record of the invocation decides first, because taking the session
 * fences off whoever works on it.
 */
async function takeSession(
  served: ServedAgent,
  run: Run,
  delivery: OpenRun,
  { ref, earlier, record, first, taking }: Beginning,
): Promise<HeldSession | WorkOutcome> {
  if (taking || (!record && !hasMessage(run, delivery.session) && !isTooLate(delivery.item))) {
    const taken = await takeLease(served, run, delivery, { ref, earlier, onlyNew: true, first, taking });
    if (taken !== 'begun') return taken;
  }
  const found = record ?? (await served.mesh.sessions.invocations.get(ref));
  const outcome = await outcomeWithoutLease(served, run, delivery, { ref, record: found });
  if (outcome) return outcome;
  const taken = await takeLease(served, run, delivery, { ref, earlier });
  if (taken === 'begun') throw new MeshError('internal', 'the store took a run for one that looks new');
  return taken;
}

function hasMessage(run: Run, { id, events }: Session): boolean {
  return logIndex(events).has(messageEventId(run, id));
}

/**
 * Returns the outcome of a run that needs no work here: the run has ended, or goes on at another agent.
 * Undefined for all other runs.
 *
 * @throws MeshError for a run that cannot continue its invocation, and for a run whose deadline has passed
 */
async function outcomeWithoutLease(
  served: ServedAgent,
  run: Run,
  delivery: OpenRun,
  { ref, record }: { ref: InvocationRef; record: InvocationRecord },
): Promise<WorkOutcome | undefined> {
  const { mesh } = served;
  if (isElsewhere(run, record)) return await refuseId(served, run, delivery.item);
  const recordedEnd = endOfRun(record, run.resume);
  if (recordedEnd) {
    await mesh.sessions.leases.leave(ref);
    return await endRun(mesh, ref, recordedEnd, delivery);
  }
  await checkContinuation(mesh, run, delivery.session);
  const outcome = await continueElsewhere(served, run, delivery);
  if (outcome) return outcome;
  // A run that has begun may have said its last word in time.
  if (hasMessage(run, delivery.session) || !isTooLate(delivery.item)) return undefined;
  throw new MeshError('deadline_exceeded', 'the run waited in its queue until its deadline');
}

/**
 * Reads the events that other processes committed after the session was read and before this run got the
 * lease; from now on they cannot commit. Returns the outcome when one of these events handed the conversation
 * over.
 */
async function catchUp(
  served: ServedAgent,
  run: Run,
  delivery: OpenRun,
  { seq, incarnation, committed }: HeldSession,
): Promise<WorkOutcome | undefined> {
  const { session } = delivery;
  const seqBefore = session.seq;
  if (seq === seqBefore && incarnation === incarnationOf(session)) {
    if (committed) addEvent(session, committed);
    return undefined;
  }
  delivery.session = (await served.mesh.sessionCache.refresh(session)) ?? (await openRunSession(served, run));
  // A copy of the run may have read the session before another delivery handed over.
  return delivery.session.seq > seqBefore ? await continueElsewhere(served, run, delivery) : undefined;
}

/**
 * Lets the agent work until it is done or hands over. Returns the name of the next agent when that agent runs
 * elsewhere.
 */
async function runHop(
  { mesh, agent, version, stopping, services, ...served }: ServedAgent,
  run: Run,
  delivery: OpenRun,
  { token, attempt, record, committed, caller }: HeldSession & { caller: Caller | undefined },
): Promise<string | undefined> {
  const { item, tally, session, cancelled } = delivery;
  let next: string | undefined;
  const ref = { ...refOf(session), invocationId: run.invocationId };
  using cancel = served.cancellations.signalOf(run.invocationId, run);
  if (cancelled !== undefined) cancel.cancel(cancelled);
  using until = signalOf(item.headers, stopping, cancel.signal);
  using _alive = keepAlive(mesh, ref, token, cancel);
  // The queue counts deliveries per message. A run that waited behind another run arrives as several
  // messages, so the store counts its attempts.
  tally.begin(attempt);
  // The next hop and the news of the run name this span as their parent.
  delivery.carrier = tally.under(delivery.carrier);
  const { carrier } = delivery;
  const calls = { uncounted: 0, counted: record.llmCalls };
  delivery.calls = calls;
  const ids = { agent: agent.name, invocationId: run.invocationId, session: run.session };
  const { app, hop, resume } = run;
  const traceId = traceIdOf(item.headers);
  mesh.log.info({ ...ids, app, hop, ...(resume !== undefined && { resume }), attempt, traceId }, 'run began');
  logTakeover(mesh.log, attempt, ids, () => logIndex(session.events).ofInvocation(run.invocationId));
  linkEarlier(tally, run, session);
  const newMessage = run.message && (await openAnswers(mesh, refOf(session), run.message));
  const events = runInvocation({
    ...services,
    ...{ agent, session },
    sessionService: fencedSessions(mesh.sessions, token, { calls, maxLlmCalls: run.runConfig.maxLlmCalls }),
    temp: record.temp,
    invocationId: run.invocationId,
    ...(run.resume !== undefined && { resume: run.resume }),
    ...(newMessage && { newMessage }),
    committedMessage: committed?.event,
    ...(run.stateDelta && { stateDelta: run.stateDelta }),
    customMetadata: clientMetadata(run.client),
    ...(run.answeredBy && { answeredBy: run.answeredBy }),
    runConfig: run.runConfig,
    carrier: { ...carrier, [header.token]: String(token) },
    attempt,
    caller,
    operationSubject: operationSubjects(mesh, agent.name),
    transfers: transferPort({ mesh, agent }, (to) => {
      next = to;
    }),
    stamp: stampReplica(mesh, { span: tally.span, version, attempt: markOf(item, attempt) }),
    endsWith() {
      delivery.ending = endingOf(session, run);
      return delivery.ending;
    },
    abortSignal: until.signal,
  });
  for await (const event of events) {
    tally.note(event);
    auditConfirmations(mesh, refOf(session), event);
    delivery.toldEnd = saidLastWord(delivery, event, resume);
    await publishEvent(mesh, session, event, delivery.toldEnd ? endingHeaders(carrier) : carrier);
  }
  return next;
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

import { createEvent, type InvocationRecord, runInvocation, type Session } from '@agentmesh/agent';
import type { WorkItem, WorkOutcome } from '@agentmesh/bus';
import {
  type Headers,
  header,
  MeshError,
  parse,
  type RunCommand,
  runCommandSchema,
  traceIdOf,
} from '@agentmesh/protocol';
import { fenced } from './fenced.ts';
import { deadlineOf, hopHeaders, signalOf } from './hop.ts';
import { publishEnd, publishEvent, refOf } from './publish.ts';
import type { ServedAgent } from './serve-agent.ts';
import { stampReplica } from './stamp.ts';
import { transferPort } from './transfer-port.ts';

const done: WorkOutcome = { done: true };
/** How soon work is tried again that failed because a server or a replica was away, in ms. */
const retryMs = 1_000;

/** A run with all that a command may leave out. */
interface Run extends RunCommand {
  invocationId: string;
  app: string;
  session: string;
  /** The command named no session: it gets one of its own. */
  fresh: boolean;
}

/** One delivery of a run command. */
interface DeliveredRun {
  headers: Headers;
  /** 1 for the first. */
  attempt: number;
  /** Go with every message sent for it. */
  carrier: Headers;
  /** What it commits under; undefined until it begins. */
  token: number | undefined;
}

/**
 * Works on a run command. Order is all: what happened is committed, then published, then the command is acknowledged. Delivered again, it
 * goes on from what the log holds.
 */
export async function handleRun(served: ServedAgent, item: WorkItem): Promise<WorkOutcome> {
  const log = served.mesh.log.child({ agent: served.agent.name, traceId: traceIdOf(item.headers) });
  let run: Run;
  try {
    run = readRun(served, item);
  } catch (error) {
    log.error({ err: error, subject: item.subject }, 'dropped a run command that nobody can read');
    return done;
  }
  const delivery: DeliveredRun = {
    headers: item.headers,
    attempt: item.attempt,
    carrier: hopHeaders(item.headers),
    token: undefined,
  };
  try {
    return await advance(served, run, delivery);
  } catch (error) {
    return await settle(served, run, delivery, error);
  }
}

function readRun({ agent, app }: ServedAgent, item: WorkItem): Run {
  const command = parse(runCommandSchema, item.json(), 'the run command');
  return {
    ...command,
    invocationId: command.invocationId ?? `e-${item.key}`,
    app: command.app ?? app ?? agent.name,
    // Made from the command's key: the same one on every delivery.
    session: command.session ?? `s-${item.key}`,
    fresh: command.session === undefined,
  };
}

async function advance(served: ServedAgent, run: Run, delivery: DeliveredRun): Promise<WorkOutcome> {
  const { mesh, agent, stopping } = served;
  const session = await openRunSession(served, run);
  const ref = { ...refOf(session), invocationId: run.invocationId };
  const record = await mesh.sessions.getInvocation(ref);
  if (record.status !== 'running') {
    await publishEnd(mesh, run.invocationId, endOf(record, session), delivery.carrier);
    return done;
  }
  const handed = handedElsewhere(served, run, session);
  if (handed === 'taken') return done;
  if ((deadlineOf(delivery.headers) ?? Number.POSITIVE_INFINITY) <= Date.now()) {
    throw new MeshError('deadline_exceeded', 'the run waited in its queue until its deadline');
  }
  let next: string | undefined = handed?.to;
  if (next === undefined) {
    delivery.token = await mesh.sessions.takeToken(ref);
    // What an earlier delivery has committed since is not in our picture; from now on it commits nothing. Other runs of the session may.
    const news = await mesh.sessions.readEvents({ ...ref, afterSeq: session.seq });
    if (news.some(({ event }) => event.invocationId === run.invocationId)) return { done: false, delayMs: 0 };
    const carrier = { ...delivery.carrier, [header.token]: String(delivery.token) };
    using until = signalOf(delivery.headers, stopping);
    const events = runInvocation({
      ...served.services,
      agent,
      session,
      sessionService: fenced(mesh.sessions, delivery.token),
      invocationId: run.invocationId,
      ...(run.message && { newMessage: run.message }),
      ...(run.stateDelta && { stateDelta: run.stateDelta }),
      runConfig: run.runConfig,
      carrier,
      attempt: delivery.attempt,
      transfers: transferPort(served, (to) => {
        next = to;
      }),
      stamp: stampReplica(mesh),
      abortSignal: until.signal,
    });
    for await (const event of events) await publishEvent(mesh, session, event, delivery.carrier);
  }
  if (next !== undefined) await handOver(served, run, next, delivery.carrier);
  else {
    const ended = await fenced(mesh.sessions, delivery.token).endInvocation(ref, { status: 'completed' });
    await publishEnd(mesh, run.invocationId, endOf(ended, session), delivery.carrier);
  }
  return done;
}

/**
 * Has the invocation been handed to an agent elsewhere? Then only the publication of its next hop may be missing: as long as nobody there
 * has said anything, the one who died before did not tell. Transfers within a workflow's step are none of ours.
 */
function handedElsewhere(
  served: ServedAgent,
  { invocationId }: Run,
  { events }: Session,
): { to: string } | 'taken' | undefined {
  const own = events.filter((event) => event.invocationId === invocationId && event.nodeInfo === undefined);
  const at = own.findLastIndex(({ actions }) => actions.transferToAgent !== undefined);
  const to = own[at]?.actions.transferToAgent;
  if (to === undefined || isHere(served, to)) return undefined;
  return own.slice(at).every(({ author = '' }) => isHere(served, author)) ? { to } : 'taken';
}

function isHere({ agent }: ServedAgent, name: string): boolean {
  const found = agent.findAgent(name);
  return found !== undefined && !found.isRemote;
}

function endOf({ status, error }: InvocationRecord, { seq }: Session) {
  return {
    status: status === 'failed' ? 'failed' : 'completed',
    lastSeq: seq,
    ...(error && { error }),
  } as const;
}

async function openRunSession({ mesh: { sessions }, agent }: ServedAgent, run: Run): Promise<Session> {
  const request = { appName: run.app, userId: run.user, sessionId: run.session };
  const session = await sessions.getSession(request);
  if (session) return session;
  if (run.fresh) return await sessions.createSession(request);
  throw new MeshError(
    'not_found',
    `agent ${agent.name} got a run for session ${run.session} of user ${run.user}, which is not there`,
  );
}

/** The next hop is published before this one is acknowledged; its id keeps a second publish from being a second hop. */
async function handOver({ mesh }: ServedAgent, run: Run, to: string, carrier: Headers): Promise<void> {
  const hop = run.hop + 1;
  const { message: _message, stateDelta: _delta, fresh: _fresh, ...rest } = run;
  await mesh.bus.enqueue(
    mesh.subjects.agentRun(to),
    { ...rest, hop },
    { messageId: `${run.invocationId}:${hop}`, headers: hopHeaders(carrier) },
  );
  mesh.log.debug({ invocationId: run.invocationId, to, hop }, 'handed over');
}

/** What a failed attempt means: try again where that can help, otherwise end the run with an error that everybody sees. */
async function settle(
  served: ServedAgent,
  run: Run,
  { carrier, token }: DeliveredRun,
  thrown: unknown,
): Promise<WorkOutcome> {
  const { mesh, agent, stopping } = served;
  const sessions = fenced(mesh.sessions, token);
  const { invocationId } = run;
  const error = MeshError.from(thrown, `agent ${agent.name} failed; its log has the cause`);
  const log = mesh.log.child({ agent: agent.name, invocationId, session: run.session });
  if (stopping.aborted && error.code === 'cancelled') return { done: false, delayMs: 0 };
  if (error.code === 'aborted') {
    log.warn({ err: error }, 'another delivery of the run has taken over');
    return { done: false, takenOver: true };
  }
  if (error.retryable) {
    log.warn({ err: error }, 'run failed for now; it will be tried again');
    return { done: false, delayMs: retryMs };
  }
  log.error({ err: error }, 'run failed');
  try {
    const session = await sessions.getSession({ appName: run.app, userId: run.user, sessionId: run.session });
    let lastSeq = 0;
    if (session) {
      const failure = createEvent({
        id: `${invocationId}/failure`,
        invocationId,
        author: agent.name,
        errorCode: error.code,
        errorMessage: error.message,
      });
      stampReplica(mesh)(failure);
      await publishEvent(mesh, session, await sessions.appendEvent({ session, event: failure }), carrier);
      await sessions.endInvocation(
        { ...refOf(session), invocationId },
        { status: 'failed', error: error.toWire() },
      );
      lastSeq = session.seq;
    }
    await publishEnd(mesh, invocationId, { status: 'failed', lastSeq, error: error.toWire() }, carrier);
    return done;
  } catch (again) {
    const { code, retryable } = MeshError.from(again);
    if (code === 'aborted') return { done: false, takenOver: true };
    if (!retryable) {
      // What fails every time must not come again every second.
      log.error({ err: again }, 'dropped a run whose failure cannot be written down');
      return done;
    }
    log.warn({ err: again }, 'could not write down how the run failed; it will be tried again');
    return { done: false, delayMs: retryMs };
  }
}

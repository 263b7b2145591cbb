import {
  type Attempt,
  answerToQuestion,
  type BaseAgent,
  checkAsk,
  type InvocationRef,
  isInPath,
  newestRun,
  newInvocationId,
  openSession,
  readAnswer,
  runInvocation,
  type Session,
  type SessionHeads,
  type SessionService,
  type TurnNeed,
  turnNeed,
  unreadBefore,
} from '@agentmesh/agent';
import type { IncomingRequest } from '@agentmesh/bus';
import {
  type Answer,
  type Ask,
  askSchema,
  type Frame,
  type Headers,
  header,
  MeshError,
} from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import { inArtifactSession } from './artifacts/artifact-session.ts';
import { fenced, tokenOf } from './fenced.ts';
import { hopHeaders, signalOf } from './hop.ts';
import { keepAlive } from './keep-alive.ts';
import type { Mesh } from './mesh.ts';
import { askIds, logTakeover, withOutcome } from './outcomes.ts';
import { publishEnd, publishEvent, publishToSession, refOf } from './publish.ts';
import { readMessage } from './read-message.ts';
import { startNext } from './run-queue.ts';
import type { ServedAgent } from './serve-agent.ts';
import { stampReplica } from './stamp.ts';
import { transferPort } from './transfer-port.ts';

/** Answers the question of a program that is no agent: it may not speak for one. */
export async function* handleQuestion(
  served: ServedAgent,
  request: IncomingRequest,
): AsyncGenerator<Frame, void, void> {
  const ask = readAsk(served, request);
  if (ask.parent || ask.step) {
    throw new MeshError(
      'permission_denied',
      'only agents ask on behalf of a call or a step; leave parent and step out',
    );
  }
  yield* logged(served, request, ask);
}

/** Answers the ask of an agent: on behalf of a call, or of a step of its workflow. */
export async function* handleDelegated(
  served: ServedAgent,
  request: IncomingRequest,
): AsyncGenerator<Frame, void, void> {
  yield* logged(served, request, readAsk(served, request));
}

function logged(served: ServedAgent, request: IncomingRequest, ask: Ask): AsyncGenerator<Frame, void, void> {
  const { mesh, agent } = served;
  return withOutcome(mesh.log, 'ask ended', askIds(agent.name, ask), answerAsk(served, request, ask));
}

function readAsk({ agent }: ServedAgent, request: IncomingRequest): Ask {
  return readMessage(askSchema, request, `the ask of agent ${agent.name}`);
}

/**
 * Answers an ask: the agent works on the message in the hidden session of the call, or for a caller that is no agent in the session it names
 * or a fresh one. An ask that comes again under the same call id goes on where the first one stopped.
 */
async function* answerAsk(
  served: ServedAgent,
  request: IncomingRequest,
  ask: Ask,
): AsyncGenerator<Frame, void, void> {
  const { mesh, agent } = served;
  const { parent, step } = ask;
  const belongsTo = parent ?? step;
  const invocationId = belongsTo?.invocationId ?? newInvocationId();
  using cancel = served.cancellations.signalOf(invocationId);
  if (belongsTo) {
    // The invocation belongs to the one who asked, and so does the session of a step.
    const token = tokenOf(request.headers);
    const { app: appName, user: userId } = belongsTo;
    const ref = { appName, userId, sessionId: parent?.callId ?? belongsTo.session, invocationId };
    // Before the session is read: what an attempt before this one commits later is refused, and what it has committed is seen.
    const attempt = await mesh.sessions.beginAttempt(ref, partOf(agent.name, ask, request.headers));
    const session = await sessionOf(served, ask, invocationId);
    logTakeover(mesh.log, attempt.number, askIds(agent.name, ask), () => session.events);
    if (step) yield* retell(step, session);
    yield* work(served, request, ask, { session, invocationId, token, attempt, cancelled: cancel.signal });
    // The hidden session of a call has no next turn.
    if (step) mesh.heads.keep(session);
    return;
  }
  const session = await sessionOf(served, ask, invocationId);
  const ref = { ...refOf(session), invocationId };
  const token = await tokenFor(mesh, ref);
  using _alive = keepAlive(mesh, ref, token, cancel);
  // What others said until the session was ours.
  const now = ask.session === undefined ? session : await mesh.heads.refresh(session);
  const current = now ?? (await sessionOf(served, ask, invocationId));
  let end: AskEnd = {
    status: 'failed',
    error: { code: 'cancelled', message: 'nobody waited for the answer' },
  };
  try {
    yield* work(served, request, ask, { session: current, invocationId, token, cancelled: cancel.signal });
    end = { status: 'completed' };
    mesh.heads.keep(current);
  } catch (error) {
    end = { status: 'failed', error: MeshError.from(error).toWire() };
    throw error;
  } finally {
    await endAsk(mesh, ref, token, end, current.seq);
  }
}

/** Names what is asked, the same whenever it is sent: deeper down the same agent may be asked for the same step again, by itself. */
function partOf(agent: string, { parent, step }: Ask, headers: Headers): string {
  const { path, branch, journalStart } = step ?? {};
  const run = headers[header.resume];
  const place = [agent, headers[header.depth] ?? '', parent?.callId, path, branch, journalStart];
  return JSON.stringify(run === undefined ? place : [...place, run]);
}

/** What an attempt before this one has committed, and its asker has not heard. */
function* retell(step: NonNullable<Ask['step']>, session: Session): Generator<Frame, void, void> {
  const { invocationId, branch, path, afterSeq } = step;
  for (const event of session.events.slice(Math.max(afterSeq - unreadBefore(session), 0))) {
    const isOfStep =
      event.invocationId === invocationId &&
      event.author !== 'user' &&
      (path === undefined || isInPath(event, path)) &&
      (branch === undefined || event.branch === branch || event.branch?.startsWith(`${branch}.`));
    if (isOfStep) yield { type: 'event', data: event };
  }
}

type AskEnd = Parameters<SessionService['endInvocation']>[1];

/** An ask is answered at once or not at all: it cannot wait for its turn in the session. */
async function tokenFor({ sessions }: Mesh, ref: InvocationRef): Promise<number> {
  const taken = await sessions.takeSession(ref, { run: '', whenBusy: 'reject' });
  if (taken.state === 'held') return taken.token;
  throw new MeshError(
    'resource_exhausted',
    `another run is at work in session ${ref.sessionId}; ask again later, or without a session`,
  );
}

async function endAsk(
  mesh: Mesh,
  ref: InvocationRef,
  token: number,
  end: AskEnd,
  lastSeq: number,
): Promise<void> {
  await fenced(mesh.sessions, token).endInvocation(ref, end);
  await publishEnd(mesh, ref, { ...end, lastSeq }, {});
  await startNext(mesh, ref);
}

interface AskWork {
  session: Session;
  invocationId: string;
  token: number | undefined;
  attempt?: Attempt;
  cancelled: AbortSignal;
}

async function* work(
  served: ServedAgent,
  request: IncomingRequest,
  ask: Ask,
  { session, invocationId, token, attempt, cancelled }: AskWork,
): AsyncGenerator<Frame, void, void> {
  const { mesh, agent, stopping } = served;
  const { parent, step } = ask;
  const artifactSession = step?.artifactSession ?? parent?.artifactSession ?? parent?.session;
  const incoming = hopHeaders(request.headers);
  const resume = incoming[header.resume];
  const carrier = token === undefined ? incoming : { ...incoming, [header.token]: String(token) };
  using until = signalOf(request.headers, request.signal, stopping, cancelled);
  const events = runInvocation({
    ...inArtifactSession(served.services, artifactSession),
    agent,
    session,
    sessionService: fenced(mesh.sessions, token, attempt),
    invocationId,
    ...(attempt && { attempt: attempt.number }),
    operationSubject: (callId) => mesh.subjects.operation(agent.name, callId),
    ...(attempt && resume !== undefined && { resume }),
    isAsked: true,
    ...(step ? stepOptions(step, session) : { newMessage: messageOf(agent, ask, session) }),
    runConfig: ask.runConfig,
    carrier,
    stamp: stampReplica(mesh),
    abortSignal: until.signal,
    transfers: transferPort(served),
  });
  for await (const event of events) {
    // The invocation's watchers follow the asking agent's session; the one of a call has its own listeners. Of a step the one who
    // asked tells, in the order in which it hears.
    if (parent) await publishToSession(mesh, session, event, carrier);
    else if (!step) await publishEvent(mesh, session, event, carrier);
    if (event.author !== 'user') yield { type: 'event', data: event };
  }
  const part = step ? 'step' : parent && 'call';
  yield { type: 'result', data: answerOf(agent, session, invocationId, part) };
}

/** An agent that had asked a person within the call goes on with the answer. */
function messageOf(agent: BaseAgent, ask: Ask, { events }: Session): Content {
  const { message, parent, confirmation, input } = ask;
  const said = { ...(confirmation && { toolConfirmation: confirmation }), inputResponse: input };
  const answer = parent && answerToQuestion(events, said);
  return answer ?? checkAsk(agent, message);
}

/**
 * Read off the log: an ask that comes again after its end gets the same answer. What a step said was in its events. The session of a call is all
 * about it: what was left open there earlier still is.
 */
function answerOf(agent: BaseAgent, session: Session, invocationId: string, part?: 'call' | 'step'): Answer {
  const { appName: app, userId: user, id } = session;
  const own = part === 'step' ? [] : newestRun(session.events, invocationId);
  const { artifactDelta = {}, ...answer } = readAnswer(agent, own, part === 'call' ? session.events : own);
  return { ...answer, artifactDelta, invocationId, app, user, session: id };
}

async function sessionOf(
  { mesh: { sessions, heads }, agent, app, services }: ServedAgent,
  ask: Ask,
  invocationId: string,
): Promise<Session> {
  const { parent, step, state = {} } = ask;
  if (parent) {
    return await openSession(sessions, {
      appName: parent.app,
      userId: parent.user,
      sessionId: parent.callId,
      state,
    });
  }
  const ofApp = services.contextCompactors ?? [];
  if (step) {
    const ref = { appName: step.app, userId: step.user, sessionId: step.session, invocationId };
    const fromSeq = Math.min(step.journalStart, step.afterSeq) + 1;
    // A summary that was made outside of a branch does not stand for what is read within.
    const need = step.branch === undefined ? turnNeed(agent, { ofApp }) : {};
    return await knownSession(heads, ref, { ...need, fromSeq });
  }
  const owner = { appName: ask.app ?? app ?? agent.name, userId: ask.user };
  if (ask.session === undefined) return await sessions.createSession({ ...owner, state });
  const ref = { ...owner, sessionId: ask.session, invocationId };
  return await knownSession(heads, ref, turnNeed(agent, { ofApp }));
}

async function knownSession(heads: SessionHeads, ref: InvocationRef, need: TurnNeed): Promise<Session> {
  const session = await heads.open(ref, need);
  if (session) return session;
  throw new MeshError(
    'not_found',
    `there is no session ${ref.sessionId} of user ${ref.userId} in app ${ref.appName}; leave it out for a fresh one`,
  );
}

function stepOptions({ branch, path, journalStart: before }: NonNullable<Ask['step']>, session: Session) {
  const journalStart = Math.max(before - unreadBefore(session), 0);
  return { journalStart, ...(branch !== undefined && { branch }), ...(path !== undefined && { path }) };
}

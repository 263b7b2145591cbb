import { type BaseAgent, ParallelAgent, type Session } from '@agentmesh/agent';
import {
  type Attempt,
  answerToQuestion,
  type CallCount,
  checkAsk,
  type EndingCommit,
  endsPart,
  heldSessions,
  type InvocationOptions,
  isInPath,
  newestRun,
  newInvocationId,
  pickScopes,
  type RunEnding,
  readAnswer,
  runInvocation,
  unreadBefore,
} from '@agentmesh/agent/internal';
import type { IncomingRequest } from '@agentmesh/bus';
import {
  type Answer,
  type Ask,
  askSchema,
  type Caller,
  type Event,
  type Frame,
  header,
  MeshError,
  traceIdOf,
} from '@agentmesh/protocol';
import { inArtifactSession } from '../artifacts/artifact-session.ts';
import { fencedSessions, tokenOf } from '../fencing/fenced-sessions.ts';
import { keepAlive } from '../fencing/keep-alive.ts';
import { operationSubjects } from '../mesh/addressed-call.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { askIds, createTally, logTakeover, type Tally, withOutcome } from '../mesh/outcomes.ts';
import type { ServedAgent } from '../mesh/served-agent.ts';
import { askPart } from '../messages/ask-part.ts';
import { hopHeaders } from '../messages/carrier.ts';
import { signalOf } from '../messages/deadline.ts';
import { publishEvent } from '../messages/publish-event.ts';
import { readPayload } from '../messages/read-payload.ts';
import { stampReplica } from '../messages/stamp-replica.ts';
import { transferPort } from '../remote/transfer-port.ts';
import { type AskLease, endAsk, takeForAsk } from './ask-lease.ts';
import { askOwner, askSession, stepOptions } from './ask-session.ts';

/** Answers the ask of a program that is not an agent: such a program may not ask on behalf of an agent. */
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
  const ids = { ...askIds(agent.name, ask), traceId: traceIdOf(request.headers) };
  const { app, session, invocationId } = ask.parent ?? ask.step ?? { ...ask, invocationId: undefined };
  const about = { agent, app, session, invocationId, callId: ask.parent?.callId };
  const tally = createTally('ask', agent.name, { ...about, headers: request.headers });
  return withOutcome(mesh.log, tally, ids, answerAsk(served, request, ask, tally));
}

function readAsk({ agent }: ServedAgent, request: IncomingRequest): Ask {
  return readPayload(askSchema, request, `the ask of agent ${agent.name}`);
}

/**
 * Answers an ask. For a call the agent works in the child session of the call. For a program it works in the
 * session that the program names, or in a new session. A repeated ask with the same call id continues where
 * the first ask stopped.
 */
async function* answerAsk(
  served: ServedAgent,
  request: IncomingRequest,
  ask: Ask,
  tally: Tally,
): AsyncGenerator<Frame, void, void> {
  const { mesh, agent } = served;
  const { parent, step } = ask;
  const belongsTo = parent ?? step;
  const invocationId = belongsTo?.invocationId ?? newInvocationId();
  using cancel = served.cancellations.signalOf(invocationId, belongsTo);
  const owner = belongsTo ? { appName: belongsTo.app, userId: belongsTo.user } : askOwner(served, ask);
  const caller = await mesh.callers.read(request.headers, { ...owner, invocationId });
  if (belongsTo) {
    // The invocation belongs to the asking agent, and so does the session of a step.
    const token = tokenOf(request.headers);
    const ref = { ...owner, sessionId: parent?.callId ?? belongsTo.session, invocationId };
    // Must come before the session is read: from now on the commits of an earlier attempt are refused, and
    // those before are in the session.
    const attempt = await mesh.sessions.invocations.beginAttempt(
      ref,
      askPart(agent.name, ask, request.headers),
    );
    tally.begin(attempt.number);
    const session = await askSession(served, ask, invocationId);
    logTakeover(mesh.log, attempt.number, askIds(agent.name, ask), () => session.events);
    if (attempt.number > 1) tally.span?.linkTo(session.events);
    if (step && !step.held) yield* retell(step, session);
    const askWork = { session, invocationId, caller, token, attempt, tally, cancelled: cancel.signal };
    const data = yield* work(served, request, ask, askWork);
    // The child session of a call has no next turn.
    if (step && !step.held) mesh.sessionCache.keep(session);
    yield { type: 'result', data };
    return;
  }
  const lease = await takeForAsk(served, ask, { invocationId, caller });
  const { session, ref, taken } = lease;
  using _alive = keepAlive(mesh, ref, taken.token, cancel);
  const { token, record } = taken;
  const calls = { uncounted: 0, counted: record.llmCalls };
  const begun = { calls, temp: record.temp, caller, committedMessage: taken.committed?.event };
  const endsWith = () => {
    lease.ending = { as: { status: 'completed' } };
    return lease.ending;
  };
  const askWork = { session, invocationId, token, tally, ...begun, endsWith, cancelled: cancel.signal };
  // The end is recorded before the asking process reads the answer: that process finds the session free.
  const data = yield* untilEnd(mesh, lease, () => work(served, request, ask, askWork));
  yield { type: 'result', data };
}

/**
 * Records how the ask ended and publishes the end, whether the ask is answered, fails, or nobody waits for
 * its answer any more.
 */
async function* untilEnd(
  mesh: Mesh,
  lease: AskLease,
  run: () => AsyncGenerator<Frame, Answer, void>,
): AsyncGenerator<Frame, Answer, void> {
  let end: RunEnding = {
    status: 'failed',
    error: { code: 'cancelled', message: 'nobody waited for the answer' },
  };
  try {
    const answer = yield* run();
    end = { status: 'completed' };
    mesh.sessionCache.keep(lease.session);
    return answer;
  } catch (error) {
    end = { status: 'failed', error: MeshError.from(error).toWire() };
    throw error;
  } finally {
    await endAsk(mesh, lease, end);
  }
}

/** Yields the events that an earlier attempt committed and that the asking process has not received. */
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

interface AskWork {
  session: Session;
  invocationId: string;
  caller: Caller | undefined;
  token: number | undefined;
  attempt?: Attempt;
  /** The model calls that the store does not know; absent for an ask whose invocation other processes count. */
  calls?: CallCount;
  /** The `temp:` state of the invocation; absent when it is to be read. */
  temp?: Readonly<Record<string, unknown>>;
  /** The event of the message, if it was committed when the session was taken. */
  committedMessage?: Event | undefined;
  /** Absent for an ask whose invocation belongs to the asking agent. */
  endsWith?: (() => EndingCommit) | undefined;
  tally: Tally;
  cancelled: AbortSignal;
}

async function* work(
  served: ServedAgent,
  request: IncomingRequest,
  ask: Ask,
  { session, invocationId, caller, token, attempt, calls, temp, tally, cancelled, ...begun }: AskWork,
): AsyncGenerator<Frame, Answer, void> {
  const { mesh, agent, stopping } = served;
  const { parent, step } = ask;
  const artifactSession = step?.artifactSession ?? parent?.artifactSession ?? parent?.session;
  const incoming = tally.under(hopHeaders(request.headers));
  const resume = incoming[header.resume];
  const held = step?.held;
  const { maxLlmCalls } = ask.runConfig;
  const sessions = fencedSessions(mesh.sessions, token, { attempt, calls, maxLlmCalls });
  const carrier = token === undefined ? incoming : { ...incoming, [header.token]: String(token) };
  using until = signalOf(request.headers, request.signal, stopping, cancelled);
  const events = runInvocation({
    ...inArtifactSession(served.services, artifactSession),
    agent,
    session,
    sessionService: held ? heldSessions(sessions, held) : sessions,
    ...(held && { held, isUnderOwnCode: true }),
    invocationId,
    ...(attempt && { attempt: attempt.number }),
    operationSubject: operationSubjects(mesh, agent.name),
    ...(attempt && resume !== undefined && { resume }),
    isAsked: true,
    caller,
    ...(temp && { temp }),
    ...begun,
    ...(step ? stepOptions(step, session) : messageOf(agent, ask, session)),
    runConfig: ask.runConfig,
    carrier,
    stamp: stampReplica(mesh, { span: tally.span, version: served.version }),
    abortSignal: until.signal,
    transfers: transferPort(served),
  });
  for await (const event of events) {
    // The asking process publishes the events of a step, in the order in which it receives the events, and
    // reads the pieces of a call's answer.
    if (!step && !(parent && event.partial)) await publishEvent(mesh, session, event, carrier);
    if (event.author !== 'user') yield { type: 'event', data: event };
    if (held && endsPart(event) && goesStepByStep(agent))
      return { ...answerOf(agent, session, invocationId, 'step'), more: true };
  }
  const part = step ? 'step' : parent && 'call';
  return answerOf(agent, session, invocationId, part);
}

/**
 * Tells whether the agent can be asked one step at a time. User code runs from its start with each request,
 * so an agent with user code works through its whole turn at once. The same holds for parallel agents: the
 * end of one agent's step would cut off the other agents within their steps.
 */
function goesStepByStep(agent: BaseAgent): boolean {
  return ![...agent.tree()].some((each) => each.hasOwnCode || each instanceof ParallelAgent);
}

/**
 * Returns the agent's new message. An agent that asked a person within the call continues with the answer.
 */
function messageOf(
  agent: BaseAgent,
  ask: Ask,
  { events }: Session,
): Pick<InvocationOptions, 'newMessage' | 'isChecked' | 'stateDelta'> {
  const { message, parent, confirmation, input, state = {} } = ask;
  const received = { ...(confirmation && { toolConfirmation: confirmation }), inputResponse: input };
  const answer = parent && answerToQuestion(events, received);
  return {
    ...(answer ? { newMessage: answer, isChecked: true } : { newMessage: checkAsk(agent, message) }),
    ...(parent && { stateDelta: pickScopes(state, ['temp']) }),
  };
}

/**
 * Reads the answer off the log, so that an ask that is repeated after its end gets the same answer. The
 * events of a step hold all that the agent said in it. The whole session of a call belongs to the call: in
 * this session a question from an earlier run may still be open.
 */
function answerOf(agent: BaseAgent, session: Session, invocationId: string, part?: 'call' | 'step'): Answer {
  const { appName: app, userId: user, id } = session;
  const runEvents = part === 'step' ? [] : newestRun(session.events, invocationId);
  const { artifactDelta = {}, ...answer } = readAnswer(
    agent,
    runEvents,
    part === 'call' ? session.events : runEvents,
  );
  return { ...answer, artifactDelta, invocationId, app, user, session: id };
}

import {
  type BaseAgent,
  checkAsk,
  newInvocationId,
  openSession,
  readAnswer,
  runInvocation,
  type Session,
  type SessionService,
} from '@agentmesh/agent';
import type { IncomingRequest } from '@agentmesh/bus';
import {
  type Answer,
  type Ask,
  askSchema,
  type Frame,
  MeshError,
  parse,
  type SessionRef,
} from '@agentmesh/protocol';
import { fenced, tokenOf } from './fenced.ts';
import { hopHeaders, signalOf } from './hop.ts';
import { publishEvent, publishToSession, refOf } from './publish.ts';
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
  yield* answerAsk(served, request, ask);
}

/** Answers the ask of an agent: on behalf of a call, or of a step of its workflow. */
export async function* handleDelegated(
  served: ServedAgent,
  request: IncomingRequest,
): AsyncGenerator<Frame, void, void> {
  yield* answerAsk(served, request, readAsk(served, request));
}

function readAsk({ agent }: ServedAgent, request: IncomingRequest): Ask {
  return parse(askSchema, request.json(), `the ask of agent ${agent.name}`);
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
  const { mesh, agent, stopping } = served;
  const session = await sessionOf(served, ask);
  const { parent, step } = ask;
  const invocationId = parent?.invocationId ?? step?.invocationId ?? newInvocationId();
  const carrier = hopHeaders(request.headers);
  using cancel = served.cancellations.signalOf(invocationId);
  using until = signalOf(request.headers, request.signal, stopping, cancel.signal);
  const events = runInvocation({
    ...served.services,
    agent,
    session,
    sessionService: fenced(mesh.sessions, tokenOf(request.headers)),
    invocationId,
    ...(step ? stepOptions(step) : { newMessage: checkAsk(agent, ask.message) }),
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
  // The invocation of a call or a step belongs to the one who asked.
  if (!parent && !step) {
    await mesh.sessions.endInvocation({ ...refOf(session), invocationId }, { status: 'completed' });
  }
  yield { type: 'result', data: answerOf(agent, session, invocationId, step !== undefined) };
}

/** Read off the log: an ask that comes again after its end gets the same answer. What a step said was in its events. */
function answerOf(agent: BaseAgent, session: Session, invocationId: string, isStep: boolean): Answer {
  const { appName: app, userId: user, id } = session;
  const own = isStep ? [] : session.events.filter((event) => event.invocationId === invocationId);
  const { artifactDelta = {}, ...answer } = readAnswer(agent, own);
  return { ...answer, artifactDelta, invocationId, app, user, session: id };
}

async function sessionOf({ mesh: { sessions }, agent, app }: ServedAgent, ask: Ask): Promise<Session> {
  const { parent, step, state = {} } = ask;
  if (parent) {
    return await openSession(sessions, {
      appName: parent.app,
      userId: parent.user,
      sessionId: parent.callId,
      state,
    });
  }
  if (step)
    return await knownSession(sessions, { appName: step.app, userId: step.user, sessionId: step.session });
  const owner = { appName: ask.app ?? app ?? agent.name, userId: ask.user };
  if (ask.session === undefined) return await sessions.createSession({ ...owner, state });
  return await knownSession(sessions, { ...owner, sessionId: ask.session });
}

async function knownSession(sessions: SessionService, ref: SessionRef): Promise<Session> {
  const session = await sessions.getSession(ref);
  if (session) return session;
  throw new MeshError(
    'not_found',
    `there is no session ${ref.sessionId} of user ${ref.userId} in app ${ref.appName}; leave it out for a fresh one`,
  );
}

function stepOptions({ branch, path, journalStart }: NonNullable<Ask['step']>) {
  return { journalStart, ...(branch !== undefined && { branch }), ...(path !== undefined && { path }) };
}

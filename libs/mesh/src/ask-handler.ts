import {
  answerText,
  newInvocationId,
  openSession,
  runInvocation,
  type Session,
  type SessionService,
  scopeOf,
} from '@agentmesh/agent';
import type { IncomingRequest } from '@agentmesh/bus';
import {
  type Answer,
  type Ask,
  askSchema,
  type Event,
  type Frame,
  MeshError,
  parse,
  type SessionRef,
} from '@agentmesh/protocol';
import { hopHeaders, signalOf } from './hop.ts';
import { publishEvent, publishToSession, refOf } from './publish.ts';
import type { ServedAgent } from './serve-agent.ts';
import { stampReplica } from './stamp.ts';
import { transferPort } from './transfer-port.ts';

/**
 * Answers an ask: the agent works on the message in the hidden session of the call, or for a caller that is no agent in the session it names
 * or a fresh one. An ask that comes again under the same call id goes on where the first one stopped.
 */
export async function* handleAsk(
  served: ServedAgent,
  request: IncomingRequest,
): AsyncGenerator<Frame, void, void> {
  const { mesh, agent, stopping } = served;
  const ask = parse(askSchema, request.json(), `the ask of agent ${agent.name}`);
  const session = await sessionOf(served, ask);
  const { parent, step } = ask;
  const invocationId = parent?.invocationId ?? step?.invocationId ?? newInvocationId();
  const carrier = hopHeaders(request.headers);
  const answer: Answer = {
    text: '',
    invocationId,
    app: session.appName,
    user: session.userId,
    session: session.id,
    stateDelta: {},
    artifactDelta: {},
  };
  const events = runInvocation({
    agent,
    session,
    sessionService: mesh.sessions,
    invocationId,
    ...(step ? stepOptions(step) : { newMessage: ask.message }),
    runConfig: ask.runConfig,
    carrier,
    stamp: stampReplica(mesh),
    abortSignal: signalOf(request.headers, request.signal, stopping),
    transfers: transferPort(served, (to) => {
      throw new MeshError(
        'failed_precondition',
        `agent ${agent.name} was asked a question and cannot transfer to ${to} in another process; use it as a tool there`,
      );
    }),
  });
  for await (const event of events) {
    // The invocation's watchers follow the asking agent's session; the one of a call has its own listeners. Of a step the one who
    // asked tells, in the order in which it hears.
    if (parent) await publishToSession(mesh, session, event, carrier);
    else if (!step) await publishEvent(mesh, session, event, carrier);
    if (event.author === 'user') continue;
    if (!step) addToAnswer(answer, event, agent.name);
    yield { type: 'event', data: event };
  }
  if (!ask.parent)
    await mesh.sessions.endInvocation({ ...refOf(session), invocationId }, { status: 'completed' });
  yield { type: 'result', data: answer };
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

function stepOptions({ branch, journalStart }: NonNullable<Ask['step']>) {
  return { journalStart, ...(branch !== undefined && { branch }) };
}

/** The answer is the agent's last words, and what it changed in the session's state. */
function addToAnswer(answer: Answer, event: Event, agent: string): void {
  if (event.partial) return;
  if (event.errorCode !== undefined) {
    throw new MeshError('internal', `agent ${agent} failed: ${event.errorMessage ?? event.errorCode}`);
  }
  const text = answerText(event);
  if (text) answer.text = text;
  Object.assign(answer.artifactDelta, event.actions.artifactDelta);
  for (const [key, value] of Object.entries(event.actions.stateDelta)) {
    if (scopeOf(key) !== 'temp') answer.stateDelta[key] = value;
  }
}

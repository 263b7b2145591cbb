import {
  answerText,
  newInvocationId,
  openSession,
  runInvocation,
  type Session,
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
  const invocationId = ask.parent?.invocationId ?? newInvocationId();
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
    newMessage: ask.message,
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
    // The invocation's watchers follow the asking agent's session; the one of a call has its own listeners.
    await (ask.parent ? publishToSession : publishEvent)(mesh, session, event, carrier);
    if (event.author === 'user') continue;
    addToAnswer(answer, event, agent.name);
    yield { type: 'event', data: event };
  }
  if (!ask.parent)
    await mesh.sessions.endInvocation({ ...refOf(session), invocationId }, { status: 'completed' });
  yield { type: 'result', data: answer };
}

async function sessionOf({ mesh: { sessions }, agent, app }: ServedAgent, ask: Ask): Promise<Session> {
  const { parent, state = {} } = ask;
  if (parent) {
    return await openSession(sessions, {
      appName: parent.app,
      userId: parent.user,
      sessionId: parent.callId,
      state,
    });
  }
  const owner = { appName: ask.app ?? app ?? agent.name, userId: ask.user };
  if (ask.session === undefined) return await sessions.createSession({ ...owner, state });
  const session = await sessions.getSession({ ...owner, sessionId: ask.session });
  if (session) return session;
  throw new MeshError(
    'not_found',
    `there is no session ${ask.session} of user ${ask.user} in app ${owner.appName}; leave it out for a fresh one`,
  );
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

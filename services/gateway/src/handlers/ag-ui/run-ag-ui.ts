import { RunAgentInputSchema } from '@ag-ui/core/schemas';
import type { Session } from '@agentmesh/agent';
import { checkClientInput, pendingCalls } from '@agentmesh/mesh';
import { MeshError, parse, type SessionRef } from '@agentmesh/protocol';
import type { FastifyRequest } from 'fastify';
import { assertMayActFor, mayActFor } from '../../access/check-access.ts';
import { assertMayStart } from '../../access/may-start.ts';
import type { GatewayContext } from '../../context/context.ts';
import type { Handler, HandlerContext } from '../../context/route.ts';
import { readUser } from '../../params/params.ts';
import { requireSession } from '../../params/require-session.ts';
import { assertSessionName } from '../../params/session-name.ts';
import { cancelOnceBegun } from '../../runs/cancel-once-begun.ts';
import { type AcceptedRun, readRepeatable } from '../../runs/repeated-run.ts';
import { watchUntil } from '../../runs/run-watch.ts';
import { runBody, startAllowedRun } from '../../runs/start-requested-run.ts';
import { streamRun } from '../../runs/stream-run.ts';
import { AgUiFrames } from './ag-ui-frames.ts';
import { KnownState } from './known-state.ts';
import { clientInputIn, forwardedState, mayAnswer, messageOf, stateChanges } from './read-input.ts';

const inputSchema = RunAgentInputSchema.extend({ threadId: runBody.shape.sessionId });

/**
 * Runs an app as an agent of AG-UI (the Agent User Interaction Protocol, 1.0). A thread is a session, which is made
 * when it does not exist. Its history stands in the session, so only the last message of the input is read, or the last
 * messages of tools, which answer calls of tools of the client; entries of `resume` answer questions.
 */
export const runAgUi: Handler = async (context, request, reply) => {
  using until = watchUntil(context, reply);
  const { ref, runId, run, known } = await begin(context, request, until.signal);
  const { ref: started, numbered, end, isRepeated } = run;
  const { sessionId: threadId } = ref;
  const seesState = mayActFor(request, ref.appName, ref.userId);
  const readState = async () => (await requireSession(context, ref, { numRecentEvents: 0 })).state;
  const form = new AgUiFrames({
    ...{ threadId, runId, invocationId: started.invocationId, isRepeated, known, seesState, readState },
    pending: () => pendingOf(context, ref),
    knowsState: () =>
      context.large
        .readState(request, async () => known.isSame(await readState()))
        .catch((error: unknown) => {
          // A busy gateway does not look: the next run of the thread begins with the whole state.
          if (MeshError.from(error).code === 'resource_exhausted') return true;
          throw error;
        }),
  });
  reply.hijack();
  const isOver = await streamRun(context, reply, until, { ref: started, numbered, end, form });
  if (context.config.stopOnDisconnect === 'true' && !isRepeated && until.clientGone.aborted && !isOver)
    await cancelOnceBegun(context, started);
};

/** A run that has begun, and what its stream needs: nothing that may be large. */
interface Begun {
  ref: SessionRef;
  runId: string;
  run: AcceptedRun;
  known: KnownState;
}

/** Starts the run of a request, or follows it if the request came before. */
async function begin(context: HandlerContext, request: FastifyRequest, signal: AbortSignal): Promise<Begun> {
  const input = parse(inputSchema, request.body ?? {}, 'the body');
  const owner = await readUser(context, request);
  const ref = { ...owner, sessionId: input.threadId };
  // Whether a guess of the state is right is for nobody else to know.
  if (Object.keys(Object(input.state)).length > 0) assertMayActFor(request, owner.appName, owner.userId);
  const { runId } = input;
  const repeatable = readRepeatable(context, request, ref);
  const follow = async (): Promise<Begun | undefined> => {
    const run = await repeatable?.follow(signal);
    return run && { ref, runId, run, known: (await compareState(context, request, ref, undefined)).known };
  };
  const repeated = await follow();
  if (repeated) return repeated;
  try {
    const newMessage = messageOf(input, mayAnswer(input) ? await pendingOf(context, ref) : []);
    const client = clientInputIn(input);
    const {
      isThere,
      stateDelta: changes,
      known: before,
    } = await compareState(context, request, ref, input.state);
    const stateDelta = { ...changes, ...forwardedState(input) };
    // A request that is refused makes no session.
    assertMayStart(request, { ...owner, message: newMessage, stateDelta, client });
    checkClientInput(context.mesh, owner.appName, client);
    const known = isThere ? before : await makeSession(context, ref, changes);
    const body = {
      ...{ ...ref, newMessage, streaming: true, client },
      ...(Object.keys(stateDelta).length > 0 && { stateDelta }),
    };
    const requested = parse(runBody, body, 'the run of the input');
    const run = await startAllowedRun(context, request, requested, { signal, streams: true, repeatable });
    return { ref, runId, run, known };
  } catch (error) {
    // The same request has begun its run meanwhile, and its message counts as answered then.
    const begun = await follow();
    if (begun) return begun;
    throw error;
  }
}

/** Compares the state of an input with that of its session. A state may be large, so it is not kept. */
function compareState(
  context: HandlerContext,
  request: FastifyRequest,
  ref: SessionRef,
  given: unknown,
): Promise<{ isThere: boolean; stateDelta: Record<string, unknown>; known: KnownState }> {
  return context.large.readState(request, async () => {
    const session = await findSession(context, ref);
    const stateDelta = stateChanges(given, session?.state ?? {});
    const known = new KnownState({ ...session?.state, ...stateDelta });
    return { isThere: session !== undefined, stateDelta, known };
  });
}

const pendingOf = (
  { mesh }: GatewayContext,
  { appName: app, userId: user, sessionId: session }: SessionRef,
) => pendingCalls(mesh, { app, user, session });

const findSession = ({ mesh }: GatewayContext, ref: SessionRef): Promise<Session | undefined> =>
  mesh.sessions.getSession({ ...ref, config: { numRecentEvents: 0 } });

/** Makes the session of a thread for its first run. Returns the state with which the run begins. */
async function makeSession(
  context: GatewayContext,
  ref: SessionRef,
  stateDelta: Record<string, unknown>,
): Promise<KnownState> {
  assertSessionName(ref.sessionId);
  const session = await context.mesh.sessions.createSession(ref).catch(async (error: unknown) => {
    // Another run of the thread was faster.
    const made =
      MeshError.from(error).code === 'already_exists' ? await findSession(context, ref) : undefined;
    if (made) return made;
    throw error;
  });
  return new KnownState({ ...session.state, ...stateDelta });
}

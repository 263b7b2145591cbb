import { RunAgentInputSchema } from '@ag-ui/core/schemas';
import type { Session } from '@agentmesh/agent';
import { pendingCalls } from '@agentmesh/mesh';
import { MeshError, parse, type SessionRef } from '@agentmesh/protocol';
import { assertMayStart } from '../../access/may-start.ts';
import type { GatewayContext } from '../../context/context.ts';
import type { Handler } from '../../context/route.ts';
import { readUser } from '../../params/params.ts';
import { requireSession } from '../../params/require-session.ts';
import { assertSessionName } from '../../params/session-name.ts';
import { cancelOnceBegun } from '../../runs/cancel-once-begun.ts';
import { type AcceptedRun, readRepeatable } from '../../runs/repeated-run.ts';
import { watchUntil } from '../../runs/run-watch.ts';
import { runBody, startAllowedRun } from '../../runs/start-requested-run.ts';
import { streamRun } from '../../runs/stream-run.ts';
import { AgUiFrames } from './ag-ui-frames.ts';
import { messageOf, stateChanges } from './read-input.ts';

/**
 * Runs an app as an agent of AG-UI (the Agent User Interaction Protocol, 1.0). A thread is a session, which is made
 * when it does not exist. Its history stands in the session, so only the last message of the input is read; entries of
 * `resume` answer questions.
 */
export const runAgUi: Handler = async (context, request, reply) => {
  const input = parse(RunAgentInputSchema, request.body ?? {}, 'the body');
  const owner = await readUser(context, request);
  const ref = { ...owner, sessionId: input.threadId };
  const { appName: app, userId: user, sessionId: threadId } = ref;
  const { runId } = input;
  const pending = () => pendingCalls(context.mesh, { app, user, session: threadId });
  const session = await findSession(context, ref);
  using until = watchUntil(context, reply);
  const answer = async (run: AcceptedRun, state: Record<string, unknown>) => {
    const { ref: started, numbered, end, isRepeated } = run;
    reply.hijack();
    const form = new AgUiFrames({
      ...{ threadId, runId, invocationId: started.invocationId, isRepeated, state, pending },
      readState: async () => (await requireSession(context, ref, { numRecentEvents: 0 })).state,
    });
    const isOver = await streamRun(context, reply, until, { ref: started, numbered, end, form });
    if (context.config.stopOnDisconnect === 'true' && until.clientGone.aborted && !isOver)
      await cancelOnceBegun(context, started);
  };
  const repeatable = await readRepeatable(context, request, ref);
  const repeated = await repeatable?.follow(until.signal);
  if (repeated) return await answer(repeated, session?.state ?? {});
  try {
    const newMessage = messageOf(input, input.resume?.length ? await pending() : []);
    const stateDelta = stateChanges(input.state, session?.state ?? {});
    // A request that is refused makes no session.
    assertMayStart(request, { ...owner, message: newMessage, stateDelta });
    const made = session ?? (await makeSession(context, ref));
    const requested = runBody.parse({
      ...{ ...ref, newMessage, streaming: true },
      ...(Object.keys(stateDelta).length > 0 && { stateDelta }),
    });
    const options = { signal: until.signal, streams: true, repeatable };
    const started = await startAllowedRun(context, request, requested, options);
    await answer(started, { ...made.state, ...stateDelta });
  } catch (error) {
    if (!repeatable || reply.sent) throw error;
    // The same request has begun its run meanwhile, and its message counts as answered then.
    const begun = await (await readRepeatable(context, request, ref))?.follow(until.signal);
    if (!begun) throw error;
    await answer(begun, session?.state ?? {});
  }
};

const findSession = ({ mesh }: GatewayContext, ref: SessionRef): Promise<Session | undefined> =>
  mesh.sessions.getSession({ ...ref, config: { numRecentEvents: 0 } });

/** Makes the session of a thread for its first run. */
async function makeSession(context: GatewayContext, ref: SessionRef): Promise<Session> {
  assertSessionName(ref.sessionId);
  try {
    return await context.mesh.sessions.createSession(ref);
  } catch (error) {
    // Another run of the thread was faster.
    const made =
      MeshError.from(error).code === 'already_exists' ? await findSession(context, ref) : undefined;
    if (made) return made;
    throw error;
  }
}

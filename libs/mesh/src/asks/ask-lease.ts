import { randomUUID } from 'node:crypto';
import { LlmAgent, type Session } from '@agentmesh/agent';
import {
  addEvent,
  type EndedInvocation,
  type EndingCommit,
  endOfRun,
  type HeldSession,
  type InvocationRef,
  incarnationOf,
  plainMessageEvent,
  type RunEnd,
  type RunEnding,
  recordedEnd,
  type TakenSession,
} from '@agentmesh/agent/internal';
import { type Ask, type Caller, type Event, MeshError } from '@agentmesh/protocol';
import { fencedSessions } from '../fencing/fenced-sessions.ts';
import type { Mesh } from '../mesh/mesh.ts';
import type { ServedAgent } from '../mesh/served-agent.ts';
import { publishEnd, refOf } from '../messages/publish-event.ts';
import { closeCalls } from '../runs/close-calls.ts';
import { askSilentHolder, startNext } from '../runs/run-queue.ts';
import { askOwner, askSession } from './ask-session.ts';

/** The session of an ask of a program, which has it until the end of the ask. */
export interface AskLease {
  session: Session;
  ref: InvocationRef;
  taken: HeldSession;
  /** The end that was committed with the last event of the ask, if one was; without `isIdle` the commit failed. */
  ending?: EndingCommit;
}

/**
 * Takes the session that the ask names, or a new one. An ask is answered at once or refused: it cannot wait in the
 * session's queue.
 *
 * @throws MeshError `resource_exhausted` when a run is at work in the session; as {@link askSession}
 */
export async function takeForAsk(
  served: ServedAgent,
  ask: Ask,
  { invocationId, caller }: { invocationId: string; caller: Caller | undefined },
): Promise<AskLease> {
  const { sessions, sessionCache } = served.mesh;
  const take = (ref: InvocationRef) => {
    const first = firstEvent(served, ask, caller, ref);
    return sessions.leases.take(ref, { run: '', whenBusy: 'reject', agent: served.agent.name, first });
  };
  if (ask.session === undefined) {
    const ref = { ...askOwner(served, ask), sessionId: randomUUID(), invocationId };
    // The store gets both without waiting in between, as a rule in this order.
    const creating = sessions.createSession({ ...ref, isNewId: true, state: ask.state ?? {} });
    const [session, early] = await Promise.all([creating, take(ref)]);
    const taken = assertHeld(ref, early.state === 'gone' ? await take(ref) : early);
    if (taken.committed) addEvent(session, taken.committed);
    return { session, ref, taken };
  }
  const session = await askSession(served, ask, invocationId);
  const ref = { ...refOf(session), invocationId };
  const found = await take(ref);
  if (found.state !== 'held') await askSilentHolder(served.mesh, ref);
  const taken = assertHeld(ref, found);
  if (taken.seq === session.seq && taken.incarnation === incarnationOf(session)) {
    if (taken.committed) addEvent(session, taken.committed);
    return { session, ref, taken };
  }
  // Other processes have committed events before this ask got the session.
  const current = (await sessionCache.refresh(session)) ?? (await askSession(served, ask, invocationId));
  return { session: current, ref, taken };
}

/** Returns the event of the ask's message, unless its commit needs a look at the session. */
function firstEvent(
  { agent, services: { pluginManager } }: ServedAgent,
  { message, runConfig }: Ask,
  caller: Caller | undefined,
  ref: InvocationRef,
): Event | undefined {
  // The schema may refuse the message: the ask then fails, and has its session until its end is recorded.
  if (agent instanceof LlmAgent && agent.inputParameters) return undefined;
  const { invocationId } = ref;
  return plainMessageEvent({ invocationId, runConfig, caller, pluginManager }, ref, message);
}

function assertHeld({ sessionId }: InvocationRef, taken: TakenSession): HeldSession {
  if (taken.state === 'held') return taken;
  throw new MeshError(
    'resource_exhausted',
    `another run is at work in session ${sessionId}; ask again later, or without a session`,
  );
}

/** Records the end of an ask, publishes it, and starts the next run of the session, if there is one. */
export async function endAsk(mesh: Mesh, lease: AskLease, end: RunEnding): Promise<void> {
  const { ref, taken } = lease;
  const { isIdle, lastSeq, ...told } = committedEnd(lease) ?? (await recordEnd(mesh, lease, end));
  await publishEnd(mesh, ref, { ...told, lastSeq }, {});
  if (!isIdle) return await startNext(mesh, ref);
  // The answer need not wait for this: a search takes the session off the list too.
  mesh.sessions.leases.noteIdle(ref, taken.mark).catch((error: unknown) => {
    mesh.log.debug({ err: error, ...ref }, 'could not take an idle session off the list');
  });
}

type AskEnd = RunEnd & Pick<EndedInvocation, 'isIdle' | 'lastSeq'>;

function committedEnd({ ending, session }: AskLease): AskEnd | undefined {
  if (ending?.isIdle === undefined) return undefined;
  return { ...recordedEnd(ending.as), isIdle: ending.isIdle, lastSeq: session.seq };
}

async function recordEnd(mesh: Mesh, { ref, taken }: AskLease, end: RunEnding): Promise<AskEnd> {
  const sessions = fencedSessions(mesh.sessions, taken.token);
  if (end.error?.code === 'cancelled') await closeCalls(mesh, ref, sessions);
  const { isIdle, lastSeq, ...record } = await sessions.invocations.end(ref, end);
  return { ...(endOfRun(record) ?? end), isIdle, lastSeq };
}

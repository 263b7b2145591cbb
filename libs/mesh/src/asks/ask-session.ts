import type { Session } from '@agentmesh/agent';
import {
  heldCopy,
  type InvocationRef,
  noSession,
  openSession,
  type SessionCache,
  type TurnNeed,
  turnNeed,
  unreadBefore,
} from '@agentmesh/agent/internal';
import { type Ask, MeshError } from '@agentmesh/protocol';
import type { ServedAgent } from '../mesh/served-agent.ts';

/**
 * Opens the session of an ask: the child session of its call, the session of its step (or a copy of that
 * session), or the session that a program names.
 */
export async function askSession(served: ServedAgent, ask: Ask, invocationId: string): Promise<Session> {
  const { mesh, agent, services } = served;
  const { sessions, sessionCache } = mesh;
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
    // A summary that was made outside of a branch does not stand for the events that are read within the
    // branch.
    const need = step.branch === undefined ? turnNeed(agent, { ofApp }) : {};
    const session = await openExisting(sessionCache, ref, { ...need, fromSeq });
    return step.held ? heldCopy(session, step.held) : session;
  }
  if (ask.session === undefined) throw new MeshError('internal', 'an ask without a session has none to open');
  const ref = { ...askOwner(served, ask), sessionId: ask.session, invocationId };
  return await openExisting(sessionCache, ref, turnNeed(agent, { ofApp }));
}

/** Returns the app and the user of the session of an ask of a program. */
export function askOwner({ app, agent }: ServedAgent, ask: Ask): Pick<InvocationRef, 'appName' | 'userId'> {
  return { appName: ask.app ?? app ?? agent.name, userId: ask.user };
}

async function openExisting(
  sessionCache: SessionCache,
  ref: InvocationRef,
  need: TurnNeed,
): Promise<Session> {
  const session = await sessionCache.open(ref, need);
  if (session) return session;
  throw noSession(ref);
}

/** Returns the options of a step: the start of its journal, and its branch and path. */
export function stepOptions(
  { branch, path, journalStart: before }: NonNullable<Ask['step']>,
  session: Session,
) {
  const journalStart = Math.max(before - unreadBefore(session), 0);
  return { journalStart, ...(branch !== undefined && { branch }), ...(path !== undefined && { path }) };
}

import { MeshError } from '@agentmesh/protocol';
import type { Session } from '../sessions/session.ts';
import type { SessionService } from '../sessions/session-service.ts';

/** Starts the session of an ask, or opens it where the ask was begun before. */
export async function openSession(
  sessionService: SessionService,
  request: { appName: string; userId: string; sessionId: string; state: Record<string, unknown> },
): Promise<Session> {
  const known = await sessionService.getSession(request);
  if (known) return known;
  try {
    return await sessionService.createSession({ ...request, hidden: true });
  } catch (error) {
    const made = error instanceof MeshError && error.code === 'already_exists';
    const session = made ? await sessionService.getSession(request) : undefined;
    if (session) return session;
    throw error;
  }
}

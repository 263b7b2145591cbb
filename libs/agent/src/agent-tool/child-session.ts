import { MeshError } from '@agentmesh/protocol';
import { pickScopes } from '../events/state.ts';
import type { Session } from '../sessions/session.ts';
import type { SessionService } from '../sessions/session-service.ts';

/**
 * Creates the session of an ask, or opens the session that an earlier attempt created. Of the state it takes the
 * session's scope alone: shared scopes are not the caller's to set.
 */
export async function openSession(
  sessionService: SessionService,
  request: { appName: string; userId: string; sessionId: string; state: Record<string, unknown> },
): Promise<Session> {
  const existing = await sessionService.getSession(request);
  if (existing) return existing;
  try {
    return await sessionService.createSession({
      ...request,
      state: pickScopes(request.state, ['session']),
      hidden: true,
    });
  } catch (error) {
    const isCreatedMeanwhile = error instanceof MeshError && error.code === 'already_exists';
    const session = isCreatedMeanwhile ? await sessionService.getSession(request) : undefined;
    if (session) return session;
    throw error;
  }
}

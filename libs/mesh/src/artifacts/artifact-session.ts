import type { InvocationServices } from '@agentmesh/agent';
import { artifactsOfSession } from '@agentmesh/agent/internal';

/** Returns the session id that goes with a message when its artifacts are those of another session. */
export function artifactSessionOf({ artifactService }: Pick<InvocationServices, 'artifactService'>): {
  artifactSession?: string;
} {
  const { sessionId } = artifactService ?? {};
  return sessionId === undefined ? {} : { artifactSession: sessionId };
}

/** Returns the services for work whose artifacts are those of another session. */
export function inArtifactSession<T extends InvocationServices>(
  services: T,
  sessionId: string | undefined,
): T {
  const { artifactService } = services;
  if (sessionId === undefined || !artifactService) return services;
  return { ...services, artifactService: artifactsOfSession(artifactService, sessionId) };
}

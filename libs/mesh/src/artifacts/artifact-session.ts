import type { InvocationServices } from '@agentmesh/agent';
import { artifactsOfSession } from '@agentmesh/agent/internal';

/** Returns the session id to send with a message, if the work uses the artifacts of another session. */
export function artifactSessionOf({ artifactService }: Pick<InvocationServices, 'artifactService'>): {
  artifactSession?: string;
} {
  const { sessionId } = artifactService ?? {};
  return sessionId === undefined ? {} : { artifactSession: sessionId };
}

/** Returns the services for work that uses the artifacts of another session. */
export function inArtifactSession<T extends InvocationServices>(
  services: T,
  sessionId: string | undefined,
): T {
  const { artifactService } = services;
  if (sessionId === undefined || !artifactService) return services;
  return { ...services, artifactService: artifactsOfSession(artifactService, sessionId) };
}

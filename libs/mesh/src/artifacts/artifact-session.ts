import type { InvocationServices } from '@agentmesh/agent';
import { artifactsOfSession } from '@agentmesh/agent/internal';

/** What goes with a message from where the files are those of another session: its id. */
export function artifactSessionOf({ artifactService }: Pick<InvocationServices, 'artifactService'>): {
  artifactSession?: string;
} {
  const { sessionId } = artifactService ?? {};
  return sessionId === undefined ? {} : { artifactSession: sessionId };
}

/** The services of a process for work whose files are those of another session. */
export function inArtifactSession<T extends InvocationServices>(
  services: T,
  sessionId: string | undefined,
): T {
  const { artifactService } = services;
  if (sessionId === undefined || !artifactService) return services;
  return { ...services, artifactService: artifactsOfSession(artifactService, sessionId) };
}

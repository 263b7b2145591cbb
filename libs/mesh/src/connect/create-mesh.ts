import type { ArtifactService } from '@agentmesh/agent';
import { SessionCache } from '@agentmesh/agent/internal';
import { subjects } from '@agentmesh/protocol';
import { openArtifacts } from '../artifacts/open-artifacts.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { meshSessions } from '../user-data/mesh-sessions.ts';

/** The parts from which a mesh is made. */
export type MeshParts = Omit<Mesh, 'subjects' | 'sessionCache' | 'artifacts'> & {
  namespace?: string;
  /** Limit of the events that are cached between turns, in bytes; default 64 MiB. */
  sessionCacheBytes?: number;
  /** Default: artifacts in buckets of NATS. */
  artifacts?: ArtifactService;
};

/**
 * Makes a mesh from its parts. When a session is deleted, its files and the results of its calls are deleted
 * too.
 */
export function createMesh({ namespace, sessionCacheBytes: maxBytes, ...parts }: MeshParts): Mesh {
  const { artifacts = openArtifacts('nats', parts.bus, namespace) } = parts;
  const sessions = meshSessions(parts.sessions, { ...parts, artifacts });
  const sessionCache = new SessionCache({ sessions, ...(maxBytes !== undefined && { maxBytes }) });
  return { ...parts, artifacts, sessions, sessionCache, subjects: subjects(namespace) };
}

import type { ArtifactService } from '@agentmesh/agent';
import { SessionCache } from '@agentmesh/agent/internal';
import { subjects } from '@agentmesh/protocol';
import { openArtifacts } from '../artifacts/open-artifacts.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { meshSessions } from '../user-data/mesh-sessions.ts';

/** The parts that a mesh is made of. */
export type MeshParts = Omit<Mesh, 'subjects' | 'sessionCache' | 'artifacts'> & {
  namespace?: string;
  /** How much the events may take that are kept between turns, in bytes; default 64 MiB. */
  sessionCacheBytes?: number;
  /** Default: those in the object store of NATS. */
  artifacts?: ArtifactService;
};

/** Makes a mesh of its parts; files and results of calls are deleted with their session. */
export function createMesh({ namespace, sessionCacheBytes: maxBytes, ...parts }: MeshParts): Mesh {
  const { artifacts = openArtifacts('nats', parts.bus, namespace) } = parts;
  const sessions = meshSessions(parts.sessions, { ...parts, artifacts });
  const sessionCache = new SessionCache({ sessions, ...(maxBytes !== undefined && { maxBytes }) });
  return { ...parts, artifacts, sessions, sessionCache, subjects: subjects(namespace) };
}

import { type ArtifactService, SessionHeads } from '@agentmesh/agent';
import { subjects } from '@agentmesh/protocol';
import { openArtifacts } from '../artifacts/open-artifacts.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { meshSessions } from '../user-data/mesh-sessions.ts';

export type MeshParts = Omit<Mesh, 'subjects' | 'heads' | 'artifacts'> & {
  namespace?: string;
  /** How much the events may take that are kept between turns, in bytes; default 64 MiB. */
  sessionCacheBytes?: number;
  /** Default: those in the object store of NATS. */
  artifacts?: ArtifactService;
};

export function createMesh({ namespace, sessionCacheBytes: maxBytes, ...parts }: MeshParts): Mesh {
  const { artifacts = openArtifacts('nats', parts.bus, namespace) } = parts;
  const sessions = meshSessions(parts.sessions, { ...parts, artifacts });
  const heads = new SessionHeads({ sessions, ...(maxBytes !== undefined && { maxBytes }) });
  return { ...parts, artifacts, sessions, heads, subjects: subjects(namespace) };
}

import type { ArtifactService } from '@agentmesh/agent';
import { SessionCache } from '@agentmesh/agent/internal';
import { subjects } from '@agentmesh/protocol';
import { openArtifacts } from '../artifacts/open-artifacts.ts';
import { createCallCounts } from '../mesh/call-counts.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { countSessionRead } from '../mesh/metrics.ts';
import { createReaderLimits } from '../mesh/reader-limits.ts';
import { type RunLimits, runLimits } from '../mesh/run-limits.ts';
import { meshSessions } from '../user-data/mesh-sessions.ts';

/** The parts from which a mesh is made. */
export type MeshParts = Omit<
  Mesh,
  'subjects' | 'sessionCache' | 'artifacts' | 'limits' | 'readerLimits' | 'callCounts'
> & {
  namespace?: string;
  /** Limit of the events that are cached between turns, in bytes; default 64 MiB. */
  sessionCacheBytes?: number;
  /** Default: artifacts in buckets of NATS. */
  artifacts?: ArtifactService;
  /** Limits for the runs of one user; default {@link runLimits}. */
  limits?: RunLimits;
};

/**
 * Makes a mesh from its parts. When a session is deleted, its files and the results of its calls are deleted
 * too.
 */
export function createMesh({ namespace, sessionCacheBytes: maxBytes, ...parts }: MeshParts): Mesh {
  const { artifacts = openArtifacts('nats', parts.bus, namespace), limits = runLimits() } = parts;
  const sessions = meshSessions(parts.sessions, { ...parts, artifacts });
  const sessionCache = new SessionCache({
    sessions,
    onOpen: countSessionRead,
    ...(maxBytes !== undefined && { maxBytes }),
  });
  return {
    ...{ ...parts, artifacts, limits, sessions, sessionCache },
    readerLimits: createReaderLimits(),
    callCounts: createCallCounts(),
    subjects: subjects(namespace),
  };
}

import { fileURLToPath } from 'node:url';
import { type ArtifactService, FileArtifactService } from '@agentmesh/agent';
import type { Bus } from '@agentmesh/bus';
import { subjects } from '@agentmesh/protocol';
import { MeshArtifactService } from './mesh-artifact-service.ts';
import { MeshKeeperArtifacts } from './mesh-keeper-artifacts.ts';

/**
 * Opens the artifacts of a mesh: `nats`, or a folder that all its processes share, as a `file:` address.
 */
export function openArtifacts(where: string, bus: Bus, namespace?: string): ArtifactService {
  if (where !== 'nats') return new FileArtifactService(fileURLToPath(where));
  return new MeshArtifactService(bus, subjects(namespace).artifactBucket);
}

/**
 * Opens the artifacts for a service as {@link openArtifacts} does. A service that has no right on the buckets of
 * files, as behind accounts, gets them from a keeper.
 *
 * @throws MeshError `unavailable` when NATS does not answer
 */
export async function openServiceArtifacts(
  where: string,
  bus: Bus,
  namespace?: string,
): Promise<ArtifactService> {
  const names = subjects(namespace);
  if (where === 'nats' && !(await bus.records(names.artifactBucket).isReadable()))
    return new MeshKeeperArtifacts(bus, names);
  return openArtifacts(where, bus, namespace);
}

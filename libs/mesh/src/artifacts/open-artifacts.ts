import { fileURLToPath } from 'node:url';
import { type ArtifactService, FileArtifactService } from '@agentmesh/agent';
import type { Bus } from '@agentmesh/bus';
import { subjects } from '@agentmesh/protocol';
import { MeshArtifactService } from './mesh-artifact-service.ts';

/** Opens the artifacts of a mesh: `nats`, or a folder that all its processes share, as a `file:` address. */
export function openArtifacts(where: string, bus: Bus, namespace?: string): ArtifactService {
  if (where !== 'nats') return new FileArtifactService(fileURLToPath(where));
  return new MeshArtifactService(bus, subjects(namespace).artifactBucket);
}

import type { MemoryService } from '@agentmesh/agent';
import { MeshError } from '@agentmesh/protocol';
import type { GatewayContext } from '../context/context.ts';

/** @throws MeshError `failed_precondition` */
export function knownMemory({ mesh }: GatewayContext): MemoryService {
  if (mesh.memory) return mesh.memory;
  throw new MeshError('failed_precondition', 'this mesh keeps no memory');
}

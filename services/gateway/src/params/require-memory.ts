import type { MemoryService } from '@agentmesh/agent';
import { MeshError } from '@agentmesh/protocol';
import type { GatewayContext } from '../context/context.ts';

/** Returns the memory of the mesh. @throws MeshError `failed_precondition` when the mesh keeps no memory */
export function requireMemory({ mesh }: GatewayContext): MemoryService {
  if (mesh.memory) return mesh.memory;
  throw new MeshError('failed_precondition', 'this mesh keeps no memory');
}

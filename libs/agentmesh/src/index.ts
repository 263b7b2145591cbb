/**
 * The names with which agents, tools and their services are written: the programming model, and the mesh as it
 * appears in definitions and in the `main.ts` of a service.
 */
export * from '@agentmesh/agent';
export type { MainOptions, MeshToolsetOptions, RemoteAgent, RemoteTool } from '@agentmesh/mesh';
export {
  MeshToolset,
  remoteAgent,
  remoteTool,
  runAgentService,
  runToolService,
} from '@agentmesh/mesh';
export type { ErrorCode } from '@agentmesh/protocol';
export { MeshError } from '@agentmesh/protocol';

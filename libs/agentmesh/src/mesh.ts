/**
 * The names for programs that use a mesh themselves: they connect, serve agents and tools beside other work, start
 * and follow runs, answer questions of agents, and export or delete the data of users.
 */
export type { ProvisionOptions } from '@agentmesh/bus';
export { provision } from '@agentmesh/bus';
export type { KeeperMainOptions, KeyWrapper } from '@agentmesh/keeper';
export { runKeeper } from '@agentmesh/keeper';
export type * from '@agentmesh/mesh';
export {
  cancelInvocation,
  connectMesh,
  connectService,
  deleteUserData,
  exportUserData,
  followRun,
  pendingCalls,
  readInvocation,
  rewind,
  serveAgent,
  serveTool,
  startRun,
} from '@agentmesh/mesh';
export type { Logger, LoggerOptions } from '@agentmesh/service';
export { createLogger } from '@agentmesh/service';
export { provisionRedis } from '@agentmesh/store';

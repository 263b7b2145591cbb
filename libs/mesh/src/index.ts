export { pendingCalls, servePending } from './answers/pending-requests.ts';
export { MeshArtifactService } from './artifacts/mesh-artifact-service.ts';
export { MeshKeeperArtifacts } from './artifacts/mesh-keeper-artifacts.ts';
export { MeshNoArtifacts } from './artifacts/mesh-no-artifacts.ts';
export { openServiceArtifacts } from './artifacts/open-artifacts.ts';
export { memoryCallResults, memoryJobs } from './calls/memory-calls.ts';
export { endOrphan } from './client/end-orphan.ts';
export type { FollowedRun, FollowOptions, InvocationState } from './client/follow-run.ts';
export { followRun, hasEnded, readInvocation } from './client/follow-run.ts';
export { judgeGhost } from './client/judge-ghost.ts';
export type { NumberedEvent } from './client/log-reader.ts';
export { replayDeadLetter } from './client/replay-dead-letter.ts';
export { rewind } from './client/rewind.ts';
export type { RunIds, RunOptions, RunRequest, StartedRun } from './client/start-run.ts';
export { newRunIds, startRun } from './client/start-run.ts';
export type { StoredRun } from './client/stored-run.ts';
export { agentConfig } from './connect/agent-config.ts';
export type { ConnectedMesh, ConnectOptions } from './connect/connect-mesh.ts';
export { connectMesh, connectService, natsTlsOf } from './connect/connect-mesh.ts';
export type { MeshParts } from './connect/create-mesh.ts';
export { createMesh } from './connect/create-mesh.ts';
export { provisionConfig } from './connect/provision-config.ts';
export { provisionMesh } from './connect/provision-mesh.ts';
export { redisPrefixOf } from './connect/redis-prefix.ts';
export type { MainOptions } from './connect/service-main.ts';
export { runAgentService, runToolService } from './connect/service-main.ts';
export { keeperBox } from './keeper/keeper-box.ts';
export type { KeeperOptions } from './keeper/serve-keeper.ts';
export { serveKeeper } from './keeper/serve-keeper.ts';
export type { AddressedCall } from './mesh/addressed-call.ts';
export { createCallers, memoryCallerKeys } from './mesh/callers.ts';
export { agentCard, agentCards, toolCard, toolCards } from './mesh/cards.ts';
export type { Mesh } from './mesh/mesh.ts';
export { appNames, rootOf } from './mesh/root-agent.ts';
export type { RunLimits } from './mesh/run-limits.ts';
export { keeperService, serviceName } from './mesh/service-name.ts';
export type { AuditRecord } from './messages/audit.ts';
export { audit, auditRefusedMessage } from './messages/audit.ts';
export { hopHeaders } from './messages/carrier.ts';
export { deadlineSignal } from './messages/deadline.ts';
export { outlastOutage } from './messages/outlast-outage.ts';
export { checkClientInput } from './remote/check-client-input.ts';
export type { MeshToolsetOptions } from './remote/mesh-toolset.ts';
export { MeshToolset } from './remote/mesh-toolset.ts';
export type { RemoteAgent } from './remote/remote-agent.ts';
export { remoteAgent } from './remote/remote-agent.ts';
export type { RemoteTool, RemoteToolOptions } from './remote/remote-tool.ts';
export { remoteTool } from './remote/remote-tool.ts';
export { bindRemotes } from './remote/remotes.ts';
export { natsUserOf, provisionUser } from './rights/accounts.ts';
export type { NatsUsers } from './rights/nats-config.ts';
export { natsAccounts, natsPasswordVariable } from './rights/nats-config.ts';
export { permissionsOf } from './rights/permissions.ts';
export { provisionedAgents } from './rights/provisioned.ts';
export type { RedisAclOptions } from './rights/redis-acl.ts';
export { redisAcl, redisDefaultUser, redisPasswordVariable, redisRules } from './rights/redis-acl.ts';
export type { RedisUser, RedisUsersOptions } from './rights/redis-users.ts';
export { redisUsers, usesRedis } from './rights/redis-users.ts';
export type { RightsRow } from './rights/rights-table.ts';
export { rightsTable } from './rights/rights-table.ts';
export type { ServiceManifest } from './rights/service-manifest.ts';
export {
  agentManifest,
  busName,
  clientManifest,
  gatewayManifest,
  hasKeeper,
  keeperManifest,
  operatorManifest,
  toolManifest,
  usesArtifacts,
} from './rights/service-manifest.ts';
export { cancelInvocation } from './runs/cancel-invocation.ts';
export type { ServeAgentOptions } from './serve/serve-agent.ts';
export { serveAgent } from './serve/serve-agent.ts';
export type { ServeToolOptions } from './serve/serve-tool.ts';
export { serveTool } from './serve/serve-tool.ts';
export type { DeletedUserData, DeleteUserOptions } from './user-data/delete-user-data.ts';
export { deleteUserData } from './user-data/delete-user-data.ts';
export type { ExportedArtifact, UserRecord } from './user-data/export-user-data.ts';
export { exportUserData } from './user-data/export-user-data.ts';

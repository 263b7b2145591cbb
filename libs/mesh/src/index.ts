export { agentConfig } from './agent-config.ts';
export { MeshArtifactService } from './artifacts/mesh-artifact-service.ts';
export { cancelInvocation } from './cancel-invocation.ts';
export type { ConnectedMesh, ConnectOptions } from './connect.ts';
export { connectMesh, connectService } from './connect.ts';
export type { FollowedRun, FollowOptions, InvocationState } from './follow-run.ts';
export { followRun, readInvocation } from './follow-run.ts';
export { deadlineSignal, hopHeaders } from './hop.ts';
export type { NumberedEvent } from './log-reader.ts';
export type { MainOptions } from './main.ts';
export { runAgentService, runToolService } from './main.ts';
export type { CallResults, Mesh, MeshParts } from './mesh.ts';
export { agentCard, agentCards, createMesh, toolCard, toolCards } from './mesh.ts';
export type { MeshToolsetOptions } from './mesh-toolset.ts';
export { MeshToolset } from './mesh-toolset.ts';
export type { NatsUsers } from './nats-config.ts';
export { natsAccounts, provisionUser } from './nats-config.ts';
export type { OpenCall } from './pending-requests.ts';
export { openCalls, servePending } from './pending-requests.ts';
export type { Permissions, ServiceManifest } from './permissions.ts';
export {
  agentManifest,
  busName,
  clientManifest,
  gatewayManifest,
  permissionsOf,
  toolManifest,
} from './permissions.ts';
export type { RemoteAgent } from './remote-agent.ts';
export { remoteAgent } from './remote-agent.ts';
export type { RemoteTool } from './remote-tool.ts';
export { remoteTool } from './remote-tool.ts';
export { bindRemotes } from './remotes.ts';
export { replayDeadLetter } from './replay-dead-letter.ts';
export { appNames, rootOf } from './root.ts';
export type { RunOptions, RunRequest, StartedRun } from './run-client.ts';
export { startRun } from './run-client.ts';
export type { ServeAgentOptions } from './serve-agent.ts';
export { serveAgent } from './serve-agent.ts';
export type { ServeToolOptions } from './serve-tool.ts';
export { serveTool } from './serve-tool.ts';
export { serviceName } from './service-name.ts';
export type { DeletedUserData, DeleteUserOptions } from './user-data/delete-user-data.ts';
export { deleteUserData } from './user-data/delete-user-data.ts';
export type { ExportedArtifact, UserRecord } from './user-data/export-user-data.ts';
export { exportUserData } from './user-data/export-user-data.ts';

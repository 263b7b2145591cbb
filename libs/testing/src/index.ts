export type { Certificate } from './certificate.ts';
export { makeCertificate, redisTlsArgs } from './certificate.ts';
export type { PlannedFault, PlanOptions } from './faults/fault-plan.ts';
export { planFaults } from './faults/fault-plan.ts';
export type { MethodName } from './faults/intercept.ts';
export { intercept } from './faults/intercept.ts';
export type { KillableParts } from './faults/kill-points.ts';
export { addKillPoints } from './faults/kill-points.ts';
export type { Killer, KillerOptions, KillPoint } from './faults/killer.ts';
export { createKiller, killPoints } from './faults/killer.ts';
export type { MessageFate, PassingMessage } from './faults/nats-messages.ts';
export { natsMessages } from './faults/nats-messages.ts';
export type { PausedProcess } from './faults/process-pause.ts';
export { pauseProcess, pauseProcessFor } from './faults/process-pause.ts';
export type { Random } from './faults/random.ts';
export { seededRandom } from './faults/random.ts';
export type { RestartableServer, ServerPlace } from './faults/restartable-server.ts';
export { startRestartable } from './faults/restartable-server.ts';
export type { Direction, TcpProxy, TcpProxyOptions } from './faults/tcp-proxy.ts';
export { startTcpProxy } from './faults/tcp-proxy.ts';
export { findBinary } from './find-binary.ts';
export { freePort } from './free-port.ts';
export type { ModelReply, ScriptedCall, ScriptedError } from './gemini-reply.ts';
export type { ModelRequest } from './gemini-request.ts';
export { latestFunctionResponses, latestUserText } from './gemini-request.ts';
export type { GuardedSpawnOptions } from './guarded-spawn.ts';
export { endProcess, hasEnded, spawnGuarded } from './guarded-spawn.ts';
export type { ClusterNode, NatsCluster } from './nats-cluster.ts';
export { startNatsCluster } from './nats-cluster.ts';
export type { RedisCluster, RedisClusterOptions, RedisNode } from './redis-cluster.ts';
export { startRedisCluster } from './redis-cluster.ts';
export type { RedisSentinel, RedisSentinelOptions } from './redis-sentinel.ts';
export { startRedisSentinel } from './redis-sentinel.ts';
export type {
  ModelScript,
  RecordedRequest,
  ScriptedGemini,
  ScriptedGeminiOptions,
} from './scripted-gemini.ts';
export { sequence, startScriptedGemini } from './scripted-gemini.ts';
export type { NatsOptions, RedisOptions, Server } from './servers.ts';
export { startNats, startRedis } from './servers.ts';
export type { UntilOptions } from './wait.ts';
export { until } from './wait.ts';

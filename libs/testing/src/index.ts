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
export type { Direction, TcpProxy, TcpProxyOptions } from './faults/tcp-proxy.ts';
export { startTcpProxy } from './faults/tcp-proxy.ts';
export type { ModelReply, ScriptedCall, ScriptedError } from './models/gemini-reply.ts';
export type { ModelRequest } from './models/gemini-request.ts';
export { latestFunctionResponses, latestUserText } from './models/gemini-request.ts';
export { chatDialects } from './models/rude-chat.ts';
export { chatStream, chatText } from './models/rude-chat-wire.ts';
export type { Dialect, Reading } from './models/rude-dialects.ts';
export { eventsOf } from './models/rude-dialects.ts';
export { errorDialects } from './models/rude-errors.ts';
export { geminiDialects, geminiStream, geminiText } from './models/rude-gemini.ts';
export type { MixedAnswer } from './models/rude-mix.ts';
export { mixAnswer } from './models/rude-mix.ts';
export type { RudeServer, WireAnswer, WireRequest } from './models/rude-server.ts';
export { startRudeServer } from './models/rude-server.ts';
export type {
  ModelScript,
  RecordedRequest,
  ScriptedGemini,
  ScriptedGeminiOptions,
} from './models/scripted-gemini.ts';
export { sequence, startScriptedGemini } from './models/scripted-gemini.ts';
export { promptProblem } from './models/strict-prompts.ts';
export { schemaProblem } from './models/strict-schemas.ts';
export { binaryProblem, findBinary } from './processes/find-binary.ts';
export { freePort } from './processes/free-port.ts';
export type { GuardedSpawnOptions } from './processes/guarded-spawn.ts';
export { endProcess, hasEnded, spawnGuarded } from './processes/guarded-spawn.ts';
export type { Sample, Slope } from './processes/slopes.ts';
export { describeSlopes, slopesOf } from './processes/slopes.ts';
export type { UntilOptions } from './processes/wait.ts';
export { until } from './processes/wait.ts';
export type { Certificate } from './servers/certificate.ts';
export { makeCertificate, redisTlsArgs } from './servers/certificate.ts';
export type { ClusterNode, NatsCluster } from './servers/nats-cluster.ts';
export { startNatsCluster } from './servers/nats-cluster.ts';
export type { RedisCluster, RedisClusterOptions, RedisNode } from './servers/redis-cluster.ts';
export { startRedisCluster } from './servers/redis-cluster.ts';
export type { RedisSentinel, RedisSentinelOptions } from './servers/redis-sentinel.ts';
export { startRedisSentinel } from './servers/redis-sentinel.ts';
export type { RestartableServer, ServerPlace } from './servers/restartable-server.ts';
export { startRestartable } from './servers/restartable-server.ts';
export type { NatsOptions, RedisOptions, Server } from './servers/server.ts';
export { startNats, startRedis } from './servers/servers.ts';

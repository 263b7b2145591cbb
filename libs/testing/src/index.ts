export type { ModelReply, ScriptedCall, ScriptedError } from './gemini-reply.ts';
export type { ModelRequest } from './gemini-request.ts';
export { latestFunctionResponses, latestUserText } from './gemini-request.ts';
export type { GuardedSpawnOptions } from './guarded-spawn.ts';
export { endProcess, hasEnded, spawnGuarded } from './guarded-spawn.ts';
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

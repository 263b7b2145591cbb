/**
 * Tools for tests: a model that answers from a script, and real servers of NATS and Redis.
 */
export type {
  ModelReply,
  ModelRequest,
  ModelScript,
  NatsOptions,
  RecordedRequest,
  RedisOptions,
  ScriptedCall,
  ScriptedError,
  ScriptedGemini,
  ScriptedGeminiOptions,
  Server,
  UntilOptions,
} from '@agentmesh/testing';
export {
  latestFunctionResponses,
  latestUserText,
  sequence,
  startNats,
  startRedis,
  startScriptedGemini,
  until,
} from '@agentmesh/testing';

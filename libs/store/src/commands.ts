import * as calls from './calls/call-scripts.ts';
import * as jobs from './calls/job-scripts.ts';
import * as credentials from './credentials/credential-scripts.ts';
import * as dataKeys from './data-keys/data-key-scripts.ts';
import { scriptsIn } from './functions.ts';
import * as limits from './limits/limit-scripts.ts';
import * as memory from './memory/memory-scripts.ts';
import * as commits from './sessions/scripts/commit-script.ts';
import * as deletion from './sessions/scripts/delete-scripts.ts';
import * as invocations from './sessions/scripts/invocation-scripts.ts';
import * as leases from './sessions/scripts/lease-scripts.ts';
import * as overview from './sessions/scripts/overview-scripts.ts';
import * as pending from './sessions/scripts/pending-scripts.ts';
import * as queues from './sessions/scripts/queue-scripts.ts';
import * as sessions from './sessions/scripts/session-scripts.ts';

/**
 * A part of the store that a service may use. `connection` is needed by all other parts; `records` are the
 * records of invocations and of pending calls, for services that only read them; `work` tells which service
 * works for a session.
 */
export type StorePart =
  | 'connection'
  | 'functions'
  | 'api-keys'
  | 'callers'
  | 'limits'
  | 'operator'
  | 'calls'
  | 'records'
  | 'work'
  | 'credentials'
  | 'data-keys'
  | 'memory'
  | 'sessions';

const modules: Record<StorePart, readonly object[]> = {
  connection: [],
  functions: [],
  'api-keys': [],
  callers: [],
  limits: [limits],
  operator: [],
  calls: [calls, jobs],
  records: [
    { readInvocationScript: invocations.readInvocationScript, callStateScript: pending.callStateScript },
  ],
  work: [{ readInvocationScript: invocations.readInvocationScript }],
  credentials: [credentials],
  'data-keys': [dataKeys],
  memory: [memory],
  sessions: [commits, deletion, invocations, leases, overview, pending, queues, sessions],
};

/** The commands that the code of each part sends, beside the commands within scripts. */
const sent: Record<StorePart, string> = {
  callers: 'get set',
  limits: 'zrem hvals get set',
  connection:
    'ping info time select wait asking readonly readwrite client|setname cluster|slots fcall fcall_ro',
  functions: 'function|load',
  'api-keys': 'hget hgetall hset hsetnx hdel',
  operator: 'scan acl|log',
  calls: 'hget',
  records: 'hgetall',
  work: 'hget hvals hexists',
  'data-keys': 'get setnx',
  credentials: 'get hset hdel hexists hgetall exists unlink',
  memory: 'hget hmget srandmember srem zrange zrevrange zrangebyscore',
  sessions:
    'hget hgetall hincrby hlen hmget hvals hexists pexpire smembers srem xrange zadd zcard zcount zrange zrangebyscore zrem zrevrange',
};

/** Returns the commands of Redis that parts of the store need, in the form of an access rule. */
export function commandsOf(parts: readonly StorePart[]): string[] {
  const commands = parts.flatMap((part) => [
    ...sent[part].split(' '),
    ...scriptsIn(modules[part]).flatMap(({ source }) => commandsIn(source)),
  ]);
  return [...new Set(commands)].sort();
}

function commandsIn(lua: string): string[] {
  return [...lua.matchAll(/redis\.p?call\('([A-Z]+)'/g)].map(([, name = '']) => name.toLowerCase());
}

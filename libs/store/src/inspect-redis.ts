import { assertOptions, MeshError, type OptionNames } from '@agentmesh/protocol';
import { type ConnectionOptions, connectRedis, type RedisConnection } from './connection/redis-connection.ts';
import { hasFunctions } from './functions.ts';

/** The facts about a Redis that matter for a mesh. Facts that this user may not read are undefined. */
export interface RedisInspection {
  version: string | undefined;
  /** True if writes go to a file that survives a crash (`appendonly`). */
  appendOnly: boolean | undefined;
  /** `noeviction`, or the way in which Redis drops keys when its memory is full. */
  maxMemoryPolicy: string | undefined;
  /** The limit of the memory, in bytes; 0 for none. */
  maxMemory: number | undefined;
  usedMemory: number | undefined;
  /** The files that Redis could not write at its last try: `aof`, `rdb`, or both; it then refuses writes. */
  failedWrites: ('aof' | 'rdb')[];
  /** True if the functions of this release are loaded. */
  hasFunctions: boolean;
  /** The difference between the clock of Redis and ours, in ms, as far as it can be told. */
  clockSkewMs: number;
}

const optionNames: OptionNames<Pick<ConnectionOptions, 'url' | 'caFile' | 'timeoutMs'>> = {
  url: true,
  caFile: true,
  timeoutMs: true,
};

/**
 * Reads the facts about a Redis; of a cluster, about one of its servers.
 *
 * @throws MeshError `unavailable` when nothing answers, `unauthenticated` for the password
 */
export async function inspectRedis(
  options: Pick<ConnectionOptions, 'url' | 'caFile' | 'timeoutMs'>,
): Promise<RedisInspection> {
  assertOptions('inspectRedis', options ?? null, optionNames);
  await using connection = await connectRedis({ ...options, connectionName: 'agentmesh-doctor' });
  const info = await infoOf(connection);
  const setting = async (name: string) => settingIn(await ifAllowed(connection, ['CONFIG', 'GET', name]));
  const appendOnly = await setting('appendonly');
  const number = (text: string | undefined) => (text === undefined ? undefined : Number(text));
  return {
    version: info.get('redis_version'),
    appendOnly: appendOnly === undefined ? undefined : appendOnly === 'yes',
    maxMemoryPolicy: (await setting('maxmemory-policy')) ?? info.get('maxmemory_policy'),
    maxMemory: number((await setting('maxmemory')) ?? info.get('maxmemory')),
    usedMemory: number(info.get('used_memory')),
    failedWrites: failedWritesIn(info),
    hasFunctions: await hasFunctions(connection),
    clockSkewMs: await clockSkew(connection),
  };
}

async function infoOf(connection: RedisConnection): Promise<Map<string, string>> {
  const text = String((await ifAllowed(connection, ['INFO'])) ?? '');
  const pairs = text.split('\n').map((line) => line.trim().split(':'));
  return new Map(pairs.map(([name = '', ...value]) => [name, value.join(':')]));
}

function failedWritesIn(info: Map<string, string>): RedisInspection['failedWrites'] {
  const isFailed = (name: string) => info.get(name) === 'err';
  return [
    ...(isFailed('aof_last_write_status') ? (['aof'] as const) : []),
    ...(isFailed('rdb_last_bgsave_status') ? (['rdb'] as const) : []),
  ];
}

function settingIn(reply: unknown): string | undefined {
  return Array.isArray(reply) && reply.length > 1 ? String(reply[1]) : undefined;
}

/** Runs a command; returns undefined when this user may not run it. */
async function ifAllowed(connection: RedisConnection, [name = '', ...args]: string[]): Promise<unknown> {
  try {
    return await connection.run((redis) => redis.call(name, args));
  } catch (error) {
    if (MeshError.from(error).code === 'permission_denied') return undefined;
    throw error;
  }
}

/** Compares the clocks. The time that the question took is taken as no difference. */
async function clockSkew(connection: RedisConnection): Promise<number> {
  const asked = Date.now();
  const reply = await ifAllowed(connection, ['TIME']);
  const answered = Date.now();
  if (!Array.isArray(reply)) return 0;
  const theirs = Number(reply[0]) * 1_000 + Math.floor(Number(reply[1]) / 1_000);
  if (theirs < asked) return theirs - asked;
  return Math.max(theirs - answered, 0);
}

import { assertOptions, MeshError, type OptionNames, parse } from '@agentmesh/protocol';
import { z } from 'zod';
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
  /** The commands and logins that Redis refused in the last ten minutes, the newest first; undefined when unknown. */
  refusals: RedisRefusal[] | undefined;
  /** The difference between the clock of Redis and ours, in ms, as far as it can be told. */
  clockSkewMs: number;
}

/** A command or a login that Redis refused, as its `ACL LOG` has it. */
export interface RedisRefusal {
  /** The user of Redis. */
  user: string;
  /** `auth` for a login; `command`, `key` or `channel` for a command. Later versions may have more. */
  reason: string;
  /** The command, the key or the channel; `auth` for a login. */
  object: string;
  /** The number of refusals in a row. */
  count: number;
}

/** The time for which a refusal counts, in s. */
const recentS = 600;

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
    refusals: refusalsIn(await ifAllowed(connection, ['ACL', 'LOG', '50']), userOf(options.url)),
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

const refusalSchema = z.object({
  count: z.coerce.number(),
  reason: z.string(),
  object: z.string(),
  username: z.string(),
  'age-seconds': z.coerce.number(),
});

/** Reads the log of refusals. Those of the user that looks are left out: it looks for facts that it may not read. */
function refusalsIn(reply: unknown, self: string): RedisRefusal[] | undefined {
  if (!Array.isArray(reply)) return undefined;
  return reply.flatMap((entry: unknown[]) => {
    const names = entry.filter((_, at) => at % 2 === 0).map(String);
    const fields = Object.fromEntries(names.map((name, at) => [name, entry[2 * at + 1]]));
    const { username: user, ...refusal } = parse(refusalSchema, fields, 'an entry of ACL LOG');
    if (user === self || refusal['age-seconds'] > recentS) return [];
    return [{ user, reason: refusal.reason, object: refusal.object, count: refusal.count }];
  });
}

/** Returns the user of an address; `default` for an address without one. */
function userOf(url: string): string {
  return URL.canParse(url) ? decodeURIComponent(new URL(url).username) || 'default' : 'default';
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

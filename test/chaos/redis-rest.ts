import { type Keys, keys as keysOf } from '@agentmesh/protocol';
import { Redis } from 'ioredis';
import type { Rest } from './check/history.ts';

type RedisRest = Rest['redis'];

/** A server, as far as its keys are judged. */
export type KeyReader = Pick<Redis, 'exists' | 'hexists' | 'hget' | 'hkeys' | 'hmget' | 'pttl' | 'zrange'>;

/** One key with its server. */
interface Stored {
  key: string;
  redis: KeyReader;
  /** All keys of the mesh, on all servers. */
  all: ReadonlySet<string>;
  rest: RedisRest;
}

/** One kind of keys: its names, and the function that notes what a key of this kind leaves behind. */
type Kind = [pattern: RegExp, judge: (stored: Stored) => Promise<void>];

const keys = keysOf();

/** Makes the pattern of a kind of keys from a sample, in which each `x` stands for one encoded part. */
function pattern(sample: (keys: Keys) => string, more = ''): RegExp {
  const parts = sample(keys).split(/(?<=[:{])x(?=[:}]|$)/);
  const escaped = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${escaped.join('([^:}]+)')}${more}$`);
}

const ref = { appName: 'x', userId: 'x', sessionId: 'x' };

/** All kinds of keys. A key of no kind is an orphan. */
const kinds: Kind[] = [
  [pattern(({ session }) => session(ref)), judgeSession],
  [pattern(({ waitingRuns }) => waitingRuns(ref)), judgeWaiting],
  [pattern(({ session }) => session(ref), ':(?:events|state|answered|waiting)'), judgePartOfSession],
  [pattern(({ invocation }) => invocation('x', 'x', 'x')), judgeInvocation],
  [pattern(({ call }) => call('x', 'x')), judgeCall],
  [pattern(({ job }) => job('x', 'x')), judgeJob],
  [pattern(({ jobProgress }) => jobProgress('x', 'x')), judgeProgress],
  [pattern(({ signIn }) => signIn(ref, 'x')), expires],
  [pattern(({ asking }) => asking('x')), expires],
  [pattern(({ index }) => index('x', 'x')), expires],
  [pattern(({ callerKey }) => callerKey('x')), expires],
  [pattern(({ answerKey }) => answerKey('x', 'x')), expires],
  [pattern(({ recentRuns }) => recentRuns('x')), expires],
  [pattern(({ recentPlaces }) => recentPlaces('x')), expires],
  [pattern(({ running }) => running('x', 'x')), judgeRuns],
  [pattern(({ ready }) => ready('x', 'x')), judgeRuns],
  [pattern(({ queued }) => queued('x', 'x')), judgeRuns],
  ...[
    pattern(({ user }) => user('x', 'x')),
    pattern(({ app }) => app('x')),
    pattern(({ appOutbox }) => appOutbox('x', 'x')),
    pattern(({ pending }) => pending('x', 'x')),
    pattern(({ sessions }) => sessions('x', 'x')),
    pattern(({ hiddenSessions }) => hiddenSessions('x', 'x')),
    pattern(({ sessionEnds }) => sessionEnds('x', 'x')),
    pattern(({ deadlines }) => deadlines('x')),
    pattern(({ busySessions }) => busySessions('x')),
    pattern(({ busyUsers }) => busyUsers('x')),
    pattern(({ waitingUsers }) => waitingUsers('x')),
    pattern(({ memory }) => memory('x', 'x').meta, '(?::.+)?'),
    pattern(({ credentials }) => credentials('x', 'x').replace(/s$/, ''), '.*'),
  ].map((each): Kind => [each, async () => {}]),
];

/** Reads all keys of the mesh from the primaries, and sorts out what is left when all work has ended. */
export async function readRedisRest(nodes: readonly { host: string; port: number }[]): Promise<RedisRest> {
  const clients = nodes.map(({ host, port }) => new Redis({ host, port, lazyConnect: true }));
  for (const client of clients) client.on('error', () => {});
  try {
    return await judgeKeys((await Promise.all(clients.map(keysOn))).flat());
  } finally {
    for (const client of clients) client.disconnect();
  }
}

/**
 * Sorts keys. A key is an orphan when it is of no known kind, when its session is gone, or when it should expire and
 * does not.
 */
export async function judgeKeys(found: readonly { key: string; redis: KeyReader }[]): Promise<RedisRest> {
  const rest: RedisRest = { holders: [], waitingRuns: [], claims: [], jobs: [], orphanKeys: [] };
  const all = new Set(found.map(({ key }) => key));
  for (const { key, redis } of found) await judge({ key, redis, all, rest });
  return rest;
}

async function keysOn(redis: Redis): Promise<{ key: string; redis: Redis }[]> {
  await redis.connect();
  // A replica has the keys of its primary.
  if (!(await redis.info('replication')).includes('role:master')) return [];
  const found: string[] = [];
  for await (const page of redis.scanStream({ match: 'am:*', count: 1_000 }))
    found.push(...(page as string[]));
  return [...new Set(found)].map((key) => ({ key, redis }));
}

async function judge(stored: Stored): Promise<void> {
  const kind = kinds.find(([names]) => names.test(stored.key));
  if (kind) await kind[1](stored);
  else stored.rest.orphanKeys.push(stored.key);
}

async function judgeSession(stored: Stored): Promise<void> {
  const { key, redis, rest } = stored;
  const [seq, lease, holder] = await redis.hmget(key, 'seq', 'lease', 'holder');
  // The hash of a session whose deletion has begun stays to the end of the deletion; that of a copy expires.
  if (seq === null) await expires(stored);
  const held = lease || holder;
  if (held) rest.holders.push(`${key} (${held})`);
}

async function judgeWaiting({ key, redis, rest }: Stored): Promise<void> {
  const session = sessionKey.exec(key)?.[0] ?? '';
  // The hash keeps the run that holds the session, too.
  const holders = await redis.hmget(session, 'lease', 'holder');
  const runs = (await redis.hkeys(key)).filter((run) => !holders.includes(run));
  rest.waitingRuns.push(...runs.map((run) => `${run} in ${key}`));
}

/** Judges the lists of a user's runs: when no run is at work and none waits, they are empty. */
async function judgeRuns({ key, redis, rest }: Stored): Promise<void> {
  rest.waitingRuns.push(...(await redis.zrange(key, '0', '-1')).map((name) => `${name} in ${key}`));
}

async function judgePartOfSession({ key, all, rest }: Stored): Promise<void> {
  const session = sessionKey.exec(key)?.[0];
  if (session === undefined || !all.has(session)) rest.orphanKeys.push(key);
}

const sessionKey = new RegExp(pattern(({ session }) => session(ref)).source.replace(/\$$/, ''));

/**
 * Judges the record of an invocation: it expires, and its session is there. The end of a run may outlive its
 * session: it is what the clients of the run are told.
 */
async function judgeInvocation(stored: Stored): Promise<void> {
  const { key, redis, all, rest } = stored;
  const owner = await redis.hget(key, 'owner');
  const fields = await redis.hkeys(key);
  const hasEnded = fields.some((field) => field === 'end' || field.startsWith('end:'));
  const user = key.slice(0, key.indexOf('}') + 1);
  const isOwned = owner === null || all.has(`${user}:session:${owner}`);
  if (!isOwned && !hasEnded) rest.orphanKeys.push(key);
  else await expires(stored);
}

/** The time to live of a lease on a call's work, as its holder renews it every second, in ms. */
const leaseTtlMs = 86_400_000;
/** The time without a renewal after which the holder of a lease is dead, in ms. */
const deadMs = 4_000;

/**
 * Judges the record of a call: it has its result, or its holder is dead and nobody asks for the call any more.
 */
async function judgeCall(stored: Stored): Promise<void> {
  const { key, redis, rest } = stored;
  const isOpen = (await redis.exists(key)) === 1 && (await redis.hexists(key, 'result')) === 0;
  if (isOpen && (await redis.pttl(key)) > leaseTtlMs - deadMs) rest.claims.push(key);
  await expires(stored);
}

async function judgeJob(stored: Stored): Promise<void> {
  const { key, redis, rest } = stored;
  if ((await redis.hexists(key, 'result')) === 0) rest.jobs.push(key);
  await expires(stored);
}

async function judgeProgress(stored: Stored): Promise<void> {
  const { key, all, rest } = stored;
  if (!all.has(key.replace(/:progress$/, ''))) rest.orphanKeys.push(key);
  else await expires(stored);
}

async function expires({ key, redis, rest }: Stored): Promise<void> {
  // -1: the key has no end. A key that is gone meanwhile has -2.
  if ((await redis.pttl(key)) === -1) rest.orphanKeys.push(key);
}

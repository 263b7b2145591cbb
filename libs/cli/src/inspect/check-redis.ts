import { MeshError } from '@agentmesh/protocol';
import type { ServiceConfig } from '@agentmesh/service';
import { inspectRedis, type RedisInspection, type RedisRefusal } from '@agentmesh/store';
import type { Checked, Finding } from './finding.ts';

/** The clocks of processes may differ by so much, in ms. */
const mostSkewMs = 1_000;
const fullShare = 0.8;
const files = { aof: 'the append-only file', rdb: 'the snapshot' };

/** Checks Redis: version, persistence, eviction, memory, functions, clock. */
export async function checkRedis({ redisUrl, redisCaFile }: ServiceConfig): Promise<Checked> {
  try {
    const facts = await inspectRedis({ url: redisUrl.reveal(), caFile: redisCaFile, timeoutMs: 2_000 });
    return { facts: [`Redis ${facts.version ?? 'of an unknown version'}`], findings: findingsOf(facts) };
  } catch (error) {
    const { message } = MeshError.from(error);
    const finding: Finding = {
      check: 'redis-connection',
      level: 'error',
      problem: `Redis cannot be used: ${message}`,
      cost: 'no service starts, and runs at work wait',
      remedy: 'correct REDIS_URL with its user and password, or start Redis',
    };
    return { facts: [], findings: [finding] };
  }
}

function findingsOf(facts: RedisInspection): Finding[] {
  const {
    version,
    appendOnly,
    failedWrites,
    maxMemoryPolicy,
    maxMemory = 0,
    usedMemory = 0,
    clockSkewMs,
    refusals = [],
  } = facts;
  const findings: (Finding | false)[] = [
    version !== undefined &&
      Number.parseInt(version, 10) < 7 && {
        check: 'redis-version',
        level: 'error',
        problem: `Redis ${version} is older than 7.0`,
        cost: 'it has no functions, so no service starts',
        remedy: 'install Redis 7.0 or newer, or Valkey 8',
      },
    failedWrites.length > 0 && {
      check: 'redis-disk',
      level: 'error',
      problem: `Redis could not write to its disk at its last try (${failedWrites.map((kind) => files[kind]).join(', ')})`,
      cost: 'it refuses writes: no event can be committed, and no session is made',
      remedy: 'free the disk of Redis (df), or correct its folder (CONFIG GET dir), then redis-cli BGSAVE',
    },
    appendOnly === false && {
      check: 'redis-persistence',
      level: 'error',
      problem: 'Redis does not write its data to a file as it comes (appendonly no)',
      cost: 'a restart of Redis loses sessions, their state, and the records of runs',
      remedy: 'redis-cli CONFIG SET appendonly yes, and the same in redis.conf',
    },
    maxMemoryPolicy !== undefined &&
      maxMemoryPolicy !== 'noeviction' && {
        check: 'redis-eviction',
        level: 'error',
        problem: `Redis drops keys when its memory is full (maxmemory-policy ${maxMemoryPolicy})`,
        cost: 'parts of sessions and of runs disappear without an error',
        remedy: 'redis-cli CONFIG SET maxmemory-policy noeviction, and the same in redis.conf',
      },
    maxMemory > 0 &&
      usedMemory > fullShare * maxMemory && {
        check: 'redis-memory',
        level: 'warning',
        problem: `Redis uses ${percent(usedMemory / maxMemory)} of its memory (maxmemory ${maxMemory} bytes)`,
        cost: 'when it is full, no event can be committed: runs wait, and new ones fail',
        remedy: 'raise maxmemory, or keep less: MESH_SESSION_DAYS, MESH_SESSION_MAX_EVENTS',
      },
    refusals.length > 0 && {
      check: 'redis-rights',
      level: 'error',
      problem: `Redis refused in the last ten minutes: ${refusalTexts(refusals).join('; ')}`,
      cost: 'the work of these services fails, or they do not start',
      remedy:
        'give Redis the users of this release (agentmesh rights redis) and each service its own password; then redis-cli ACL LOG RESET',
    },
    !facts.hasFunctions && {
      check: 'redis-functions',
      level: 'error',
      problem: 'Redis has not all functions of this release',
      cost: 'services whose users may not load functions do not start',
      remedy: 'run the provisioning step of this release (deploy/README.md)',
    },
    Math.abs(clockSkewMs) > mostSkewMs && {
      check: 'clock',
      level: 'warning',
      problem: `the clock of Redis differs from the clock of this machine by ${Math.round(clockSkewMs / 1_000)} s`,
      cost: 'deadlines come too early or too late, and times in logs do not match',
      remedy: 'let NTP set the clocks of all machines',
    },
  ];
  return findings.filter((each) => each !== false);
}

const mostText = 60;

/** Describes refusals by user and reason, with the newest one as an example. */
function refusalTexts(refusals: readonly RedisRefusal[]): string[] {
  const groups = Map.groupBy(refusals, ({ user, reason }) => `${reason} ${user}`);
  return [...groups.values()].map(([newest, ...others]) => {
    const { user, reason, object } = newest as RedisRefusal;
    if (reason === 'auth') return `the login of ${user}`;
    const named = object.length > mostText ? `${object.slice(0, mostText)}…` : object;
    const more = new Set(others.map((each) => each.object).filter((each) => each !== object)).size;
    return `the ${reason} ${named}${more > 0 ? ` and ${more} more` : ''} of ${user}`;
  });
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

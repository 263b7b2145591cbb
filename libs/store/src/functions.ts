import { createHash } from 'node:crypto';
import { assertOptions, MeshError, type OptionNames } from '@agentmesh/protocol';
import * as calls from './calls/call-scripts.ts';
import * as jobs from './calls/job-scripts.ts';
import { type ConnectionOptions, connectRedis, type RedisConnection } from './connection/redis-connection.ts';
import { isMissingFunction } from './connection/redis-errors.ts';
import * as credentials from './credentials/credential-scripts.ts';
import * as dataKeys from './data-keys/data-key-scripts.ts';
import * as limits from './limits/limit-scripts.ts';
import * as memory from './memory/memory-scripts.ts';
import { type Script, script } from './scripts/script.ts';
import * as busyLists from './sessions/scripts/busy-scripts.ts';
import * as commits from './sessions/scripts/commit-script.ts';
import * as deletion from './sessions/scripts/delete-scripts.ts';
import * as invocations from './sessions/scripts/invocation-scripts.ts';
import * as leases from './sessions/scripts/lease-scripts.ts';
import * as overview from './sessions/scripts/overview-scripts.ts';
import * as pending from './sessions/scripts/pending-scripts.ts';
import * as plainCommits from './sessions/scripts/plain-commit-script.ts';
import * as queues from './sessions/scripts/queue-scripts.ts';
import * as sessions from './sessions/scripts/session-scripts.ts';
import * as takingAndCommits from './sessions/scripts/take-and-commit-script.ts';
import * as taking from './sessions/scripts/take-script.ts';

/** The modules that define the scripts of the store. */
export const scriptModules: readonly object[] = [
  calls,
  jobs,
  credentials,
  dataKeys,
  limits,
  memory,
  busyLists,
  commits,
  deletion,
  invocations,
  leases,
  overview,
  pending,
  plainCommits,
  queues,
  sessions,
  taking,
  takingAndCommits,
];

/** All scripts of the store. */
export const allScripts: readonly Script[] = scriptsIn(scriptModules);

/** Returns the scripts among the exports of modules. The other exports are parts of Lua. */
export function scriptsIn(modules: readonly object[]): Script[] {
  return modules.flatMap((module) => Object.values<unknown>({ ...module }).filter(isScript));
}

function isScript(value: unknown): value is Script {
  return typeof value === 'object' && value !== null && 'source' in value && 'effect' in value;
}

// Sorted, because the order of a module's exports depends on the loader.
const names = allScripts.map(({ name }) => name).sort();
const digest = createHash('sha1').update(names.join('\n')).digest('hex');

/** The function that is loaded after all others: a Redis that has it has all functions of this release. */
const releaseScript = script(`return '${digest}'`, 'reads');

/** Loads all functions of the store into Redis, for services that may not load functions themselves. */
async function loadAll(connection: RedisConnection): Promise<void> {
  await connection.load(allScripts);
  await connection.load([releaseScript]);
}

/**
 * Checks that Redis has all functions of this release. Loads them if this user may.
 *
 * @throws MeshError `unavailable` when functions are missing and this user may not load them,
 * `failed_precondition` for a Redis that is older than 7.0
 */
export async function ensureFunctions(connection: RedisConnection): Promise<void> {
  if (!(await hasFunctions(connection))) await loadAll(connection);
}

/** Tells whether Redis has all functions of this release. @throws MeshError */
export async function hasFunctions(connection: RedisConnection): Promise<boolean> {
  try {
    await connection.run((redis) => redis.call('FCALL_RO', [releaseScript.name, 0]));
    return true;
  } catch (error) {
    if (error instanceof MeshError && isMissingFunction(error.cause)) return false;
    throw error;
  }
}

const optionNames: OptionNames<Pick<ConnectionOptions, 'url' | 'caFile'>> = { url: true, caFile: true };

/**
 * Loads the functions of the store into Redis: the provisioning step for services whose users may not load
 * functions. Safe to repeat. Functions of other releases stay, so that services of both releases work.
 *
 * @throws MeshError as `connectRedisStore`, and `unavailable` when this user may not load functions
 */
export async function provisionRedis(options: Pick<ConnectionOptions, 'url' | 'caFile'>): Promise<void> {
  assertOptions('provisionRedis', options ?? null, optionNames);
  await using connection = await connectRedis({ ...options, connectionName: 'agentmesh-provision' });
  await loadAll(connection);
}

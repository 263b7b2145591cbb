import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type MeshAccounts, openMeshAccounts, type ServiceProcess } from '@agentmesh/cli/local';
import { agentConfig } from '@agentmesh/mesh';
import { serviceConfig } from '@agentmesh/service';
import type { Sample } from './samples.ts';

/** Returns a level that is finer than that of the launcher. */
export function isFiner(level: string | undefined): string | undefined {
  return level === 'debug' || level === 'trace' ? level : undefined;
}

/**
 * Checks the settings here, so that a wrong setting is reported once and not by each service.
 *
 * @throws Error that names the variable
 */
export function assertSettings(env: NodeJS.ProcessEnv): void {
  const { natsUrl, redisUrl, logLevel, logFormat } = serviceConfig;
  for (const each of [natsUrl, redisUrl, logLevel, logFormat, agentConfig.model]) {
    const result = each.read(env[each.env]);
    if ('problem' in result) throw new Error(`${each.env} ${result.problem}`);
  }
  if (env.MESH_HEALTH_PORT !== undefined && env.MESH_HEALTH_PORT !== '0')
    throw new Error(
      'MESH_HEALTH_PORT must be 0 here, where many processes share one machine: each takes a free port, and npm start lists them for Prometheus; or leave it out, and set MESH_METRICS=otlp to send their metrics to a receiver',
    );
}

export async function startAll(
  services: readonly Sample[],
  start: (sample: Sample) => Promise<ServiceProcess>,
  failed: AbortController,
): Promise<ServiceProcess[]> {
  const reasons: unknown[] = [];
  const starting = services.map((sample) =>
    start(sample).catch((reason: unknown) => {
      reasons.push(reason);
      failed.abort();
      return undefined;
    }),
  );
  const started = await Promise.all(starting);
  // The first service failed by itself, the other services because of it.
  if (reasons.length > 0) throw reasons[0];
  return started.filter((service) => service !== undefined);
}

/**
 * Opens the accounts of own servers in the JWT form: for a mesh that services may join, with keys in its data folder,
 * and for tests of this form (`MESH_TEST_ACCOUNTS=jwt`), whose keys end with the mesh. Undefined for accounts in the
 * configuration file.
 */
export async function openJwtAccounts(
  { joinable, dataDir }: { joinable?: boolean; dataDir?: string },
  owners: AsyncDisposableStack,
): Promise<MeshAccounts | undefined> {
  const runs = process.env.MESH_TEST_SERVERS === 'docker' ? 'docker' : 'local';
  if (joinable && dataDir !== undefined) return await openMeshAccounts({ dataDir, runs });
  if (process.env.MESH_TEST_ACCOUNTS !== 'jwt') return undefined;
  if (dataDir !== undefined) return await openMeshAccounts({ dataDir, runs });
  const folder = await mkdtemp(join(tmpdir(), 'agentmesh-accounts-'));
  owners.defer(() => rmSync(folder, { recursive: true, force: true }));
  return await openMeshAccounts({ dataDir: folder, runs });
}

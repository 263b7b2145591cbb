import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openResolver } from '@agentmesh/bus';
import { busName, redisAcl, type ServiceManifest } from '@agentmesh/mesh';
import { initAccounts, type KeyFolder, lockKeys, openKeyFolder, setServices } from '@agentmesh/mesh/accounts';

/** The accounts of a mesh on this machine, to which services join while it runs. */
export interface MeshAccounts {
  /** The folder of the keys. */
  readonly keys: string;
  /** The text for nats-server.conf. */
  readonly configuration: string;
  /** Returns the file with the credentials of a service. */
  creds(service: string): string;
  /** Returns the services that have joined. */
  joined(): Promise<ServiceManifest[]>;
  /** Makes these the services of the mesh beside those that joined, and gives the servers their accounts. */
  setServices(url: string, services: readonly ServiceManifest[], options?: { all?: boolean }): Promise<void>;
  /**
   * Returns the users of Redis of the services that have joined, as lines of an ACL file, and the users for which
   * `hashOf` returns the hash of a password.
   */
  redisUsers(
    services: readonly ServiceManifest[],
    hashOf?: (user: string) => string | undefined,
  ): Promise<string>;
  /** Notes the address of Redis with all rights, by which joins make users. */
  writeRedisUrl(url: string): Promise<void>;
}

export interface MeshAccountsOptions {
  dataDir: string;
  /** The way in which NATS runs: a container sees its data under another path. */
  runs: 'local' | 'docker';
  /** True for a mesh whose services share one login, except those that join. */
  isShared?: boolean;
}

const namespace = 'mesh';

/** Opens the accounts of a mesh, or makes them when there are none. */
export async function openMeshAccounts({
  dataDir,
  runs,
  isShared = false,
}: MeshAccountsOptions): Promise<MeshAccounts> {
  const keys = join(dataDir, 'keys');
  const isThere = existsSync(join(keys, 'operator.json'));
  const folder: KeyFolder = isThere ? await openKeyFolder(keys) : await initAccounts(keys);
  const mesh = folder.mesh(namespace);
  if (isShared) await mesh.share();
  const text = await readFile(folder.configuration, 'utf8');
  const accountsDir = runs === 'docker' ? '/data/accounts' : join(dataDir, 'nats', 'accounts');
  const joined = async () => (await mesh.services()).filter((each) => each.joined);
  return {
    keys,
    configuration: text.replace('$NATS_ACCOUNTS_DIR', JSON.stringify(accountsDir)),
    creds: mesh.creds,
    joined,
    async setServices(url, services, options) {
      await using _lock = await lockKeys(keys, { waitMs: 60_000 });
      await using resolver = await openResolver({ url, credsFile: folder.systemCreds });
      await setServices({ folder, namespace, resolver }, services, options);
    },
    async redisUsers(services, hashOf = () => undefined) {
      const hashes = new Map<string, string>();
      for (const service of (await joined()).map(busName)) {
        const password = await mesh.redisPassword(service);
        if (password !== undefined) hashes.set(service, createHash('sha256').update(password).digest('hex'));
      }
      const passwordHash = (user: string) => hashes.get(user) ?? hashOf(user) ?? '';
      const lines = redisAcl({ services: [...services, ...(await joined())], passwordHash }).split('\n');
      const users = lines.filter((line) => passwordHash(line.split(' ')[1] ?? '') !== '');
      return users.map((line) => `${line}\n`).join('');
    },
    writeRedisUrl: (url) => folder.writeRedisUrl(url),
  };
}

import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openResolver } from '@agentmesh/bus';
import type { ServiceManifest } from '@agentmesh/mesh';
import { addServices, initAccounts, type MeshFolder, type Tenancy } from '@agentmesh/mesh/accounts';
import { startNats } from '@agentmesh/testing/servers';

/** A NATS server that takes accounts as JWTs, and the operator of its accounts. */
export interface ResolverStage extends AsyncDisposable {
  readonly url: string;
  readonly tenancy: Tenancy;
  /** Returns the file with the credentials of a service. */
  credsOf(service: string): string;
  /** Adds another mesh with its services. */
  addMesh(namespace: string, services: readonly ServiceManifest[]): Promise<MeshFolder>;
}

/** The folders that are removed when the tests end. */
const leftovers = new Set<string>();
process.once('exit', () => {
  for (const each of leftovers) rmSync(each, { recursive: true, force: true });
});

/** Returns the configuration with a folder for the server's accounts, which ends with the tests. */
export function resolverAt(configuration: string, name: string): string {
  // In a container the server makes this folder.
  const dir = join(tmpdir(), `agentmesh-resolver-${name}`);
  leftovers.add(dir);
  return configuration.replace('$NATS_ACCOUNTS_DIR', JSON.stringify(dir));
}

/** Starts NATS with the accounts of services in the JWT form. The keys may be kept until the tests end. */
export async function startResolverStage(
  services: readonly ServiceManifest[],
  { keepsKeys = false } = {},
): Promise<ResolverStage> {
  await using owners = new AsyncDisposableStack();
  const place = await mkdtemp(join(tmpdir(), 'agentmesh-accounts-'));
  if (keepsKeys) leftovers.add(place);
  else owners.defer(() => rmSync(place, { recursive: true, force: true }));
  const folder = await initAccounts(join(place, 'keys'));
  const text = await readFile(folder.configuration, 'utf8');
  const server = owners.use(await startNats({ configuration: resolverAt(text, randomUUID()) }));
  const resolver = owners.use(await openResolver({ url: server.url, credsFile: folder.systemCreds }));
  const addMesh = async (namespace: string, added: readonly ServiceManifest[]) => {
    await addServices({ folder, namespace, resolver }, added);
    return folder.mesh(namespace);
  };
  const mesh = await addMesh('mesh', services);
  const all = owners.move();
  return {
    url: server.url,
    tenancy: { folder, namespace: 'mesh', resolver },
    credsOf: mesh.creds,
    addMesh,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/**
 * Measures accounts in the JWT form: adds the accounts of 1,000 services, or of five times as many as agents are
 * named, to a running NATS server, adds one more service while services are connected, removes it, gives all
 * accounts a new signing key, and removes all services by one call.
 *
 * `node_modules/.bin/node test/bench/account-pushes.ts [agents]`
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectNats, openResolver } from '@agentmesh/bus';
import { busName, type ServiceManifest } from '@agentmesh/mesh';
import {
  addServices,
  initAccounts,
  removeServices,
  rotateSigningKey,
  type Tenancy,
} from '@agentmesh/mesh/accounts';
import { startNats } from '@agentmesh/testing/servers';

const agentCount = Number(process.argv[2] ?? 200);
const toolsPerAgent = 4;

/** Agents that ask one other agent and call four tools; one tool in four takes jobs. */
const services: readonly ServiceManifest[] = Array.from({ length: agentCount }, (_, at) => {
  const tools = Array.from({ length: toolsPerAgent }, (_each, nth) => `tool_${at * toolsPerAgent + nth}`);
  const none = { transfers: [], asks: [], calls: [] };
  return [
    { kind: 'agent' as const, name: `agent_${at}`, transfers: [], asks: [`agent_${at ^ 1}`], calls: tools },
    ...tools.map((name, nth) => ({ kind: 'tool' as const, name, ...none, longRunning: nth === 0 })),
  ];
}).flat();
const late: ServiceManifest = { kind: 'tool', name: 'late', transfers: [], asks: [], calls: [] };

async function timed<T>(what: string, work: () => Promise<T>, countOf: (result: T) => number): Promise<void> {
  const began = performance.now();
  const count = countOf(await work());
  const ms = performance.now() - began;
  console.log(`| ${what} | ${count} | ${(ms / 1_000).toFixed(1)} s | ${(ms / count).toFixed(1)} ms |`);
}

async function connectSome({ folder, namespace }: Tenancy, url: string): Promise<AsyncDisposable> {
  await using owners = new AsyncDisposableStack();
  const { creds } = folder.mesh(namespace);
  for (const service of ['gateway', ...services.slice(0, 10).map(busName)]) {
    const options = { url, service, credsFile: creds(service), cards: false, connectTimeoutMs: 300_000 };
    owners.use(await connectNats(options));
  }
  return owners.move();
}

async function main(): Promise<void> {
  await using owners = new AsyncDisposableStack();
  const place = await mkdtemp(join(tmpdir(), 'agentmesh-bench-'));
  owners.defer(() => rm(place, { recursive: true, force: true }));
  const folder = await initAccounts(join(place, 'keys'));
  const text = await readFile(folder.configuration, 'utf8');
  const configuration = text.replace('$NATS_ACCOUNTS_DIR', JSON.stringify(join(place, 'accounts')));
  const { url } = owners.use(await startNats({ configuration }));
  const resolver = owners.use(await openResolver({ url, credsFile: folder.systemCreds }));
  const tenancy = { folder, namespace: 'mesh', resolver };
  const connected = owners.use(new AsyncDisposableStack());
  const pushedOf = ({ pushed }: { pushed: string[] }) => pushed.length;
  console.log('| | accounts | time | for each |');
  console.log('|---|---:|---:|---:|');
  await timed('add all services', () => addServices(tenancy, services), pushedOf);
  await timed(
    'first connections, for which the server loads all accounts',
    async () => connected.use(await connectSome(tenancy, url)),
    () => services.length,
  );
  await timed('add one service', () => addServices(tenancy, [late]), pushedOf);
  await timed('remove one service', () => removeServices(tenancy, [busName(late)]), pushedOf);
  await timed(
    'replace the signing key',
    () => rotateSigningKey(folder, resolver),
    (count) => count,
  );
  // Services end before they are removed; else this process would measure their attempts to connect again.
  await connected.disposeAsync();
  await timed('remove all services', () => removeServices(tenancy, services.map(busName)), pushedOf);
}

await main();

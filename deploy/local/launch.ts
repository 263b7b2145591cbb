import { randomBytes } from 'node:crypto';
import { openCards, provision } from '@agentmesh/bus';
import { agentConfig, busName, gatewayManifest, natsAccounts, provisionUser } from '@agentmesh/mesh';
import { credentialKeysVariable } from '@agentmesh/protocol';
import { serviceConfig } from '@agentmesh/service';
import { connectRedisStore } from '@agentmesh/store';
import { credentialKeysFor } from './credential-keys.ts';
import { environmentOf } from './environment.ts';
import { readPlace, writePlace } from './kept-place.ts';
import { type OwnServer, startOwnNats, startOwnRedis, type Watch } from './own-servers.ts';
import { assertDistinct, type Sample, samples } from './samples.ts';
import { startScriptedModels } from './scripted-models.ts';
import { type ServiceProcess, startService } from './service-process.ts';
import { superviseStarts } from './supervise.ts';

export interface LaunchOptions {
  /** Default: all samples. */
  services?: readonly Sample[];
  /** Port of the gateway; default any free one. */
  gatewayPort?: number;
  /** Servers that run already; default those of `NATS_URL` and `REDIS_URL`, else own ones on free ports. */
  natsUrl?: string | undefined;
  redisUrl?: string | undefined;
  /** Where own servers keep their data; default a temporary folder. */
  dataDir?: string;
  /** Time without a sign of life after which a run is delivered to another replica, in ms; default 10,000. */
  ackWaitMs?: number;
  /** `scripted`: agents that have a script answer from it; default: as `MESH_MODEL` says. */
  model?: 'scripted' | undefined;
  /** More environment for every service. */
  env?: Record<string, string>;
  /** Ends the launch, when it is not through yet. */
  signal?: AbortSignal;
  /** Called when a service ends without having been told to. */
  onDeath?: (service: string, pid: number, how: string) => void;
  /** Starts services and own servers again that end by themselves, after a pause that grows; default false. */
  restarts?: boolean;
  /** Takes what is said of servers, and of what is started again. */
  say?: (text: string) => void;
  /** Every line that a service writes. */
  onLine?: (service: string, line: string) => void;
}

/** A mesh that runs as processes on this machine. */
export interface LocalMesh extends AsyncDisposable {
  readonly natsUrl: string;
  readonly redisUrl: string;
  readonly gatewayUrl: string;
  readonly gateway: ServiceProcess;
  /** All services but the gateway. */
  readonly processes: ServiceProcess[];
  /** User and password of a service on NATS; none where the server is not ours. */
  login(user: string): { user?: string; pass?: string };
  /** Starts another process of a service, or another gateway. */
  start(sample: Sample | 'gateway'): Promise<ServiceProcess>;
}

/** Where the gateway's package is. */
const gateway: Sample = { manifest: gatewayManifest, folder: 'services/gateway' };

/**
 * Starts NATS, Redis, every service in a process of its own, and a gateway. Each service has its own NATS user with just its subjects. All of it
 * ends with this process, in whatever way that ends.
 */
export async function launchMesh(options: LaunchOptions = {}): Promise<LocalMesh> {
  const { services = samples, env = {}, dataDir, onLine = () => {}, onDeath = () => {} } = options;
  const { restarts = false, say = () => {}, model = process.env.MESH_MODEL } = options;
  assertDistinct(services);
  assertSettings(process.env);
  const stopping = new AbortController();
  const watch: Watch = { restarts, say, signal: stopping.signal };
  await using owners = new AsyncDisposableStack();
  const scripts = owners.use(await startScriptedModels(model === 'scripted' ? services : []));
  // Neither needs the other: both are told to stop at once.
  const servers: OwnServer[] = [];
  owners.defer(async () => {
    await Promise.allSettled(servers.map((server) => server[Symbol.asyncDispose]()));
  });
  const place = await readPlace(dataDir);
  const passwordOf = (user: string) => {
    place.passwords[user] ??= randomBytes(16).toString('hex');
    return place.passwords[user];
  };
  const folder = (name: string) => (dataDir === undefined ? {} : { dataDir: `${dataDir}/${name}` });
  let natsUrl = options.natsUrl ?? process.env.NATS_URL;
  const ownNats = !natsUrl;
  if (!natsUrl) {
    const manifests = services.map(({ manifest }) => manifest);
    const configuration = natsAccounts({ services: manifests, password: passwordOf });
    const port = place.natsPort;
    const at = { configuration, ...folder('nats'), ...(port !== undefined && { port }) };
    const server = await startOwnNats(at, watch);
    servers.push(server);
    natsUrl = server.url;
    place.natsPort = server.port;
  }
  let redisUrl = options.redisUrl ?? process.env.REDIS_URL;
  if (!redisUrl) {
    const port = place.redisPort;
    const at = { ...folder('redis'), ...(port !== undefined && { port }) };
    const server = await startOwnRedis({ appendOnly: true, password: passwordOf('redis'), ...at }, watch);
    servers.push(server);
    redisUrl = server.url;
    place.redisPort = server.port;
  }
  const login = (user: string) => (ownNats ? { user, pass: passwordOf(user) } : {});
  const namesOf = (kind: 'agent' | 'tool') =>
    services.filter(({ manifest }) => manifest.kind === kind).map(({ manifest }) => manifest.name);
  const credentialKeys = await credentialKeysFor(dataDir);
  // One clear word about a server that is not there, instead of one by each service.
  const caFile = env.MESH_REDIS_CA_FILE ?? process.env.MESH_REDIS_CA_FILE;
  await (await connectRedisStore({ url: redisUrl, caFile }))[Symbol.asyncDispose]();
  await provision({
    url: natsUrl,
    agents: namesOf('agent'),
    tools: namesOf('tool'),
    ...login(provisionUser),
    ...(options.ackWaitMs !== undefined && { ackWaitMs: options.ackWaitMs }),
  });

  // On a server of ours there are no services but these.
  if (ownNats) await removeOtherCards({ url: natsUrl, ...login(provisionUser) }, services);
  for (const { manifest } of services) passwordOf(busName(manifest));
  for (const user of ['client', provisionUser]) passwordOf(user);
  await writePlace(dataDir, place);

  // One that fails, or a signal, ends the start of all.
  const failed = new AbortController();
  options.signal?.addEventListener('abort', () => failed.abort(), { once: true });
  if (options.signal?.aborted) failed.abort();
  // All are told to stop at once, before the servers; those that are started later too.
  const running: ServiceProcess[] = [];
  owners.defer(async () => {
    stopping.abort();
    await Promise.allSettled(running.map((service) => service.stop()));
  });
  const start = async (
    which: Sample | 'gateway',
    more: Record<string, string> = {},
  ): Promise<ServiceProcess> => {
    const { manifest, folder: place } = which === 'gateway' ? gateway : which;
    const { user, pass } = login(busName(manifest));
    const restart = superviseStarts({
      name: manifest.name,
      say,
      signal: stopping.signal,
      start: () => start(which, more),
    });
    const service = await startService({
      name: manifest.name,
      folder: place,
      onLine,
      onDeath(name, pid, how) {
        onDeath(name, pid, how);
        if (restarts) void restart(`${name} (pid ${pid}) ended: ${how}`);
      },
      signal: failed.signal,
      env: {
        ...environmentOf(which === 'gateway' ? 'gateway' : 'other'),
        [credentialKeysVariable]: credentialKeys,
        ...env,
        NATS_URL: natsUrl,
        REDIS_URL: redisUrl,
        ...(user !== undefined && { MESH_NATS_USER: user }),
        ...(pass !== undefined && { MESH_NATS_PASSWORD: pass }),
        ...(which === 'gateway' ? { MESH_HTTP_PORT: '0' } : scripts.environmentOf(which)),
        ...more,
        // Read by the process that starts them: `started`, and where the gateway listens.
        MESH_LOG_FORMAT: 'json',
        MESH_LOG_LEVEL: isFiner(env.MESH_LOG_LEVEL ?? process.env.MESH_LOG_LEVEL) ?? 'info',
      },
    });
    running.push(service);
    if (stopping.signal.aborted) await service.stop();
    return service;
  };
  const processes = await startAll(services, start, failed);
  const first = await start('gateway', { MESH_HTTP_PORT: String(options.gatewayPort ?? 0) });
  const all = owners.move();
  return {
    natsUrl,
    redisUrl,
    gatewayUrl: first.address ?? '',
    gateway: first,
    processes,
    login,
    start,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Finer than the level that the launcher needs itself. */
function isFiner(level: string | undefined): string | undefined {
  return level === 'debug' || level === 'trace' ? level : undefined;
}

/** @throws Error that names the variable: one clear word instead of one by each service */
function assertSettings(env: NodeJS.ProcessEnv): void {
  for (const each of [
    serviceConfig.natsUrl,
    serviceConfig.redisUrl,
    serviceConfig.logLevel,
    serviceConfig.logFormat,
    agentConfig.model,
  ]) {
    const result = each.read(env[each.env]);
    if ('problem' in result) throw new Error(`${each.env} ${result.problem}`);
  }
}

/** Forgets services that were renamed or removed since the last start: their cards would keep their apps. */
async function removeOtherCards(
  address: { url: string; user?: string; pass?: string },
  services: readonly Sample[],
): Promise<void> {
  await using cards = await openCards(address);
  const known = new Set(services.map(({ manifest }) => busName(manifest)));
  for (const card of await cards.list())
    if (!known.has(busName(card))) await cards.remove(card.kind, card.name);
}

async function startAll(
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
  // The first failed by itself, the others because of it.
  if (reasons.length > 0) throw reasons[0];
  return started.filter((service) => service !== undefined);
}

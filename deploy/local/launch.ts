import { createHash, randomBytes } from 'node:crypto';
import { provision } from '@agentmesh/bus';
import {
  credentialKeysFor,
  environmentOf,
  type OwnServer,
  readPlace,
  removeOtherCards,
  type ServiceProcess,
  startOwnNats,
  startOwnRedis,
  startService,
  superviseStarts,
  type Watch,
  writePlace,
} from '@agentmesh/cli/local';
import {
  busName,
  gatewayManifest,
  hasKeeper,
  keeperManifest,
  natsAccounts,
  provisionedAgents,
  provisionUser,
  redisAcl,
  type ServiceManifest,
} from '@agentmesh/mesh';
import { credentialKeysVariable } from '@agentmesh/protocol';
import { connectRedisStore } from '@agentmesh/store';
import { assertSettings, isFiner, openJwtAccounts, startAll } from './launch-steps.ts';
import { assertDistinct, type Sample, samples } from './samples.ts';
import { startScriptedModels } from './scripted-models.ts';

export interface LaunchOptions {
  /** The services to start; default all samples. */
  services?: readonly Sample[];
  /** The port of the gateway; default any free port. */
  gatewayPort?: number;
  /**
   * The servers, when they run already; default: the servers of `NATS_URL` and `REDIS_URL`, else new servers
   * on free ports.
   */
  natsUrl?: string | undefined;
  /** Returns the file with the credentials of a service, for a `natsUrl` with accounts in the JWT form. */
  credsOf?: (service: string) => string;
  redisUrl?: string | undefined;
  /** The data folder of new servers; default a temporary folder. */
  dataDir?: string;
  /** The silence after which a run is delivered to another replica, in ms; default 10,000. */
  ackWaitMs?: number;
  /** `scripted` for agents that answer from their scripts; default the value of `MESH_MODEL`. */
  model?: 'scripted' | undefined;
  /** More environment variables for all services. */
  env?: Record<string, string>;
  /** Ends a launch that is not complete yet. */
  signal?: AbortSignal;
  /** Called when a service ends by itself. */
  onDeath?: (service: string, pid: number, how: string) => void;
  /**
   * Tells whether services and own servers that end by themselves are started again, after growing pauses;
   * default false.
   */
  restarts?: boolean;
  /** Prints reports about servers and restarts. */
  say?: (text: string) => void;
  /** Tells whether services may join own servers: their accounts are then JWTs, with keys in `dataDir`. Default false. */
  joinable?: boolean;
  /** Tells whether only keepers have the keys of credentials; default: where services have accounts. */
  keepsKeys?: boolean;
  /** Called for every line that a service writes. */
  onLine?: (service: string, line: string) => void;
}

/** A mesh that runs as processes on this machine. */
export interface LocalMesh extends AsyncDisposable {
  readonly natsUrl: string;
  /** The address of Redis with all rights. */
  readonly redisUrl: string;
  readonly gatewayUrl: string;
  /** The folder of the keys by which services join. */
  readonly keys: string | undefined;
  readonly gateway: ServiceProcess;
  /** The processes of all services except the gateway. */
  readonly processes: ServiceProcess[];
  /** Returns the NATS user and password of a service; none when the server is not ours, or has none. */
  login(user: string): Login;
  /** Returns the address of Redis for a user with its rights; when the server is not ours, the given address. */
  redisUrlOf(user: string): string;
  /** The processes that give services the files and credentials of their work; none where nothing needs them. */
  readonly keepers: ServiceProcess[];
  /** Starts another process of a service, another gateway or another keeper, with these variables in addition. */
  start(sample: Sample | 'gateway' | 'keeper', env?: Record<string, string>): Promise<ServiceProcess>;
}

/** A login at NATS, as `connectNats` takes it. */
type Login = { user?: string; pass?: string; credsFile?: string };

const root = new URL('../../', import.meta.url).pathname;

/** The services that are neither agents nor tools, and the folders of their packages. */
const others = {
  gateway: { manifest: gatewayManifest, folder: 'services/gateway' },
  keeper: { manifest: keeperManifest, folder: 'services/keeper' },
} satisfies Record<string, Sample>;

/**
 * Starts NATS, Redis, each service in its own process, and a gateway. Each service has its own users of NATS
 * and Redis, with only its own subjects and keys. All processes end when this process ends in any way.
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
  // The servers do not need each other, so both are stopped at the same time.
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
  const manifests = services.map(({ manifest }) => manifest);
  const accounts = ownNats ? await openJwtAccounts(options, owners) : undefined;
  if (!natsUrl) {
    const inFile = natsAccounts({ services: manifests, password: passwordOf });
    const port = place.natsPort;
    const at = {
      configuration: accounts?.configuration ?? inFile,
      ...folder('nats'),
      ...(port !== undefined && { port }),
    };
    const server = await startOwnNats(at, watch);
    servers.push(server);
    natsUrl = server.url;
    place.natsPort = server.port;
    await accounts?.setServices(natsUrl, manifests, { all: true });
  }
  let redisUrl = options.redisUrl ?? process.env.REDIS_URL;
  const ownRedis = !redisUrl;
  const redisPasswordOf = (user: string) => passwordOf(`redis/${user}`);
  if (!redisUrl) {
    const port = place.redisPort;
    const passwordHash = (user: string) => createHash('sha256').update(redisPasswordOf(user)).digest('hex');
    const ownUsers = redisAcl({ services: manifests, passwordHash });
    const users = async () => (await accounts?.redisUsers(manifests, passwordHash)) ?? ownUsers;
    const at = { ...folder('redis'), ...(port !== undefined && { port }) };
    const secured = { password: passwordOf('redis'), users };
    const server = await startOwnRedis({ appendOnly: true, ...secured, ...at }, watch);
    servers.push(server);
    redisUrl = server.url;
    place.redisPort = server.port;
    await accounts?.writeRedisUrl(redisUrl);
  }
  const allRights = redisUrl;
  const redisUrlOf = (user: string) =>
    ownRedis
      ? allRights.replace(/\/\/[^@]*@/, `//${encodeURIComponent(user)}:${redisPasswordOf(user)}@`)
      : allRights;
  const login = (user: string): Login => {
    if (accounts) return { credsFile: accounts.creds(user) };
    if (ownNats) return { user, pass: passwordOf(user) };
    return options.credsOf ? { credsFile: options.credsOf(user) } : {};
  };
  const namesOf = (kind: 'agent' | 'tool') =>
    manifests.filter((each) => each.kind === kind).map(({ name }) => name);
  const { [credentialKeysVariable]: givenKeys = await credentialKeysFor(dataDir), ...ofAll } = env;
  // Loads the functions of Redis, and reports a missing server once, and not by each service.
  const caFile = env.MESH_REDIS_CA_FILE ?? process.env.MESH_REDIS_CA_FILE;
  await (await connectRedisStore({ url: redisUrl, caFile }))[Symbol.asyncDispose]();
  await provision({
    url: natsUrl,
    agents: namesOf('agent'),
    tools: namesOf('tool'),
    services: provisionedAgents(manifests),
    ...login(provisionUser),
    ...(options.ackWaitMs !== undefined && { ackWaitMs: options.ackWaitMs }),
  });

  // Our own server has no other services than these.
  if (ownNats) {
    const joined = (await accounts?.joined()) ?? [];
    await removeOtherCards({ url: natsUrl, ...login(provisionUser) }, [...manifests, ...joined]);
  }
  for (const { manifest } of services) passwordOf(busName(manifest));
  for (const user of ['client', provisionUser]) passwordOf(user);
  await writePlace(dataDir, place);

  // The failure of one service, or a signal, ends the start of all.
  const failed = new AbortController();
  options.signal?.addEventListener('abort', () => failed.abort(), { once: true });
  if (options.signal?.aborted) failed.abort();
  // All services are stopped at the same time, before the servers. Services that start later are included.
  const running: ServiceProcess[] = [];
  owners.defer(async () => {
    stopping.abort();
    await Promise.allSettled(running.map((service) => service.stop()));
  });
  const keepsKeys = areKeysKept(options, ownNats);
  const keysFor = (which: unknown) =>
    keepsKeys && which !== 'keeper' ? {} : { [credentialKeysVariable]: givenKeys };
  const start = async (
    which: Sample | keyof typeof others,
    more: Record<string, string> = {},
  ): Promise<ServiceProcess> => {
    const { manifest, folder: place } = sampleOf(which);
    const { user, pass, credsFile } = login(busName(manifest));
    const restart = superviseStarts({
      name: manifest.name,
      say,
      signal: stopping.signal,
      start: () => start(which, more),
    });
    const service = await startService({
      name: manifest.name,
      main: 'src/main.ts',
      folder: `${root}${place}`,
      onLine,
      onDeath(name, pid, how) {
        onDeath(name, pid, how);
        if (restarts) void restart(`${name} (pid ${pid}) ended: ${how}`);
      },
      signal: failed.signal,
      env: {
        ...environmentOf(which === 'gateway' ? 'gateway' : 'other'),
        ...portOf(process.env),
        ...ofAll,
        ...keysFor(which),
        NATS_URL: natsUrl,
        REDIS_URL: redisUrlOf(busName(manifest)),
        ...(user !== undefined && { MESH_NATS_USER: user }),
        ...(pass !== undefined && { MESH_NATS_PASSWORD: pass }),
        ...(credsFile !== undefined && { MESH_NATS_CREDS: credsFile }),
        ...(which === 'gateway' ? { MESH_HTTP_PORT: '0' } : scripts.environmentOf(sampleOf(which))),
        ...more,
        // This process reads the logs, for the message `started` and for the gateway's address.
        MESH_LOG_FORMAT: 'json',
        MESH_LOG_LEVEL: isFiner(env.MESH_LOG_LEVEL ?? process.env.MESH_LOG_LEVEL) ?? 'info',
      },
    });
    running.push(service);
    if (stopping.signal.aborted) await service.stop();
    return service;
  };
  // Before the services: they ask it for files and credentials.
  const keepers = await Promise.all(keepersFor(manifests, keepsKeys).map((each) => start(each)));
  const processes = await startAll(services, start, failed);
  const first = await start('gateway', { MESH_HTTP_PORT: String(options.gatewayPort ?? 0) });
  const all = owners.move();
  return {
    natsUrl,
    redisUrl,
    gatewayUrl: first.address ?? '',
    keys: accounts?.keys,
    gateway: first,
    keepers,
    processes,
    login,
    redisUrlOf,
    start,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Returns the setting by which each service takes a free health port, if it was given. */
function portOf({ MESH_HEALTH_PORT: port }: NodeJS.ProcessEnv): Record<string, string> {
  return port === undefined ? {} : { MESH_HEALTH_PORT: port };
}

function sampleOf(which: Sample | keyof typeof others): Sample {
  return typeof which === 'string' ? others[which] : which;
}

/** Tells whether only keepers have the keys. With accounts, services cannot use files without a keeper either. */
function areKeysKept({ keepsKeys, credsOf }: LaunchOptions, ownNats: boolean): boolean {
  return keepsKeys ?? (ownNats || credsOf !== undefined);
}

/** Returns the keepers to start: one where keepers alone have the keys of credentials, and a service needs one. */
function keepersFor(services: readonly ServiceManifest[], keepsKeys: boolean): 'keeper'[] {
  return keepsKeys && hasKeeper(services) ? ['keeper'] : [];
}

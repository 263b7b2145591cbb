import { connectService, keeperService, serveKeeper } from '@agentmesh/mesh';
import { AsyncDisposableStack, assertOptions, type KeyWrapper } from '@agentmesh/protocol';
import { type MainContext, runMain, type ServiceConfig, startProbes } from '@agentmesh/service';

/** Time before the end of the grace period at which requests in hand must be answered, in ms. */
const closingMs = 1_000;

export type { KeyWrapper };

/** The options of a keeper in a program of your own. */
export interface KeeperMainOptions {
  /** The master key in a key management service; default: the keys of `CREDENTIAL_KEYS`. */
  keyWrapper?: KeyWrapper | undefined;
}

/**
 * Runs the process of a keeper until SIGTERM, as the module `agentmesh/keeper` does, with a master key in a key
 * management service.
 *
 * @throws MeshError `invalid_argument` for an unknown option
 */
export async function runKeeper(options: KeeperMainOptions = {}): Promise<void> {
  assertOptions('runKeeper', options, { keyWrapper: true });
  await runMain({
    name: keeperService,
    start: (config, context) => startKeeper(config, context, options),
  });
}

/** Connects, and answers requests until it is disposed. Then it lets the requests in hand end. */
export async function startKeeper(
  config: ServiceConfig,
  { log, replica, version }: Pick<MainContext, 'log' | 'replica' | 'version'>,
  { keyWrapper }: KeeperMainOptions = {},
): Promise<AsyncDisposable> {
  await using owners = new AsyncDisposableStack();
  const mesh = owners.use(await connectService(keeperService, config, log, { cards: false, replica }));
  let stopping = false;
  const ready = async () => (stopping ? ['stopping'] : await mesh.problems());
  owners.use(await startProbes({ config, ready, service: keeperService, replica, version, log }));
  const serving = await serveKeeper(mesh, { credentialKeys: config.credentialKeys?.reveal(), keyWrapper });
  owners.defer(async () => {
    stopping = true;
    await serving.stop({ graceMs: Math.max(config.graceMs - closingMs, 0) });
  });
  log.info({ credentials: (keyWrapper ?? config.credentialKeys) !== undefined }, 'keeping');
  return owners.move();
}

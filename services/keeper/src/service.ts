import { connectService, keeperService, serveKeeper } from '@agentmesh/mesh';
import { AsyncDisposableStack } from '@agentmesh/protocol';
import { type MainContext, type ServiceConfig, startProbes } from '@agentmesh/service';

/** Time before the end of the grace period at which requests in hand must be answered, in ms. */
const closingMs = 1_000;

/** Connects, and answers requests for files until it is disposed. Then it lets the requests in hand end. */
export async function startKeeper(
  config: ServiceConfig,
  { log, replica }: Pick<MainContext, 'log' | 'replica'>,
): Promise<AsyncDisposable> {
  await using owners = new AsyncDisposableStack();
  const mesh = owners.use(await connectService(keeperService, config, log, { cards: false, replica }));
  let stopping = false;
  const ready = async () => (stopping ? ['stopping'] : await mesh.problems());
  owners.use(await startProbes({ config, ready, service: keeperService, replica, log }));
  const serving = await serveKeeper(mesh);
  owners.defer(async () => {
    stopping = true;
    await serving.stop({ graceMs: Math.max(config.graceMs - closingMs, 0) });
  });
  log.info('keeping files');
  return owners.move();
}

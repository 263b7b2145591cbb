import { createHash } from 'node:crypto';
import type { SessionService } from '@agentmesh/agent';
import { type Bus, connectNats } from '@agentmesh/bus';
import {
  type ConnectedMesh,
  connectMesh,
  type KeeperOptions,
  keeperService,
  MeshKeeperArtifacts,
  provisionUser,
  redisAcl,
  type ServiceManifest,
  serveKeeper,
} from '@agentmesh/mesh';
import { subjects } from '@agentmesh/protocol';
import { createLogger } from '@agentmesh/service';
import { connectRedisStore, provisionRedis } from '@agentmesh/store';
import { startRedis } from '@agentmesh/testing/servers';
import { type Form, type Stage, services, startStage } from './stage.fixture.ts';

const log = createLogger({ service: 'test', replica: 'test', level: 'silent', format: 'json' });

/** NATS with accounts, Redis with users, and a keeper between them. */
export interface KeeperStage extends AsyncDisposable {
  stage: Stage;
  /** The sessions, with all rights. */
  sessions: SessionService;
  /** Starts another keeper. */
  startKeeper(options?: KeeperOptions): Promise<AsyncDisposable>;
  /** The address of Redis for a user. */
  redisOf(user: string): string;
  /** Connects a service as `runToolService` does. */
  connect(service: string): Promise<ConnectedMesh>;
  /** Connects a service to NATS alone. */
  busOf(service: string): Promise<Bus>;
  /** Returns the files as a service that was taken over sees them: it asks as its own user. */
  artifactsOf(service: string): Promise<MeshKeeperArtifacts>;
  /** Returns the files as a service sees them that names another one as the asking service. */
  artifactsAs(service: string, named: string): Promise<MeshKeeperArtifacts>;
}

interface KeeperStageOptions extends KeeperOptions {
  /** Number of keepers; default 1. */
  keepers?: number;
  /** Services beside the samples. */
  more?: readonly ServiceManifest[];
}

/** Starts both servers, and a keeper unless `keepers` is 0. */
export async function startKeeperStage(
  form: Form,
  { keepers = 1, more = [], ...keys }: KeeperStageOptions = {},
): Promise<KeeperStage> {
  await using owners = new AsyncDisposableStack();
  let stack: AsyncDisposableStack = owners;
  const stage = owners.use(await startStage(form, { withLists: true, more }));
  const passwordHash = (user: string) => createHash('sha256').update(user).digest('hex');
  const redis = await startRedis({
    password: 'admin',
    users: redisAcl({ services: [...services, ...more], passwordHash }),
  });
  owners.defer(() => redis.stop());
  const redisOf = (user: string) => redis.url.replace(/\/\/.*@/, `//${user}:${user}@`);
  await provisionRedis({ url: redisOf(provisionUser) });
  const { sessions } = owners.use(await connectRedisStore({ url: redisOf(provisionUser) }));

  const connect = async (service: string): Promise<ConnectedMesh> => {
    const { url: natsUrl, ...given } = stage.address(service);
    const login = 'user' in given ? { user: given.user, password: given.pass } : given;
    return stack.use(
      await connectMesh({ service, natsUrl, redisUrl: redisOf(service), log, cards: false, ...login }),
    );
  };
  const startKeeper = async (options: KeeperOptions = keys) => {
    const serving = await serveKeeper(await connect(keeperService), options);
    return { [Symbol.asyncDispose]: () => serving.stop() };
  };
  for (let n = 0; n < keepers; n += 1) owners.use(await startKeeper());
  const busOf = async (service: string): Promise<Bus> =>
    stack.use(await connectNats({ ...stage.address(service), service, cards: false, onError: () => {} }));
  const artifactsAs = async (service: string, named: string) => {
    const bus = await busOf(service);
    return new MeshKeeperArtifacts({ request: bus.request, service: named }, subjects());
  };
  stack = owners.move();
  return {
    ...{ stage, sessions, startKeeper, redisOf, connect, busOf, artifactsAs },
    artifactsOf: (service) => artifactsAs(service, service),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

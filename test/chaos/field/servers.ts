import {
  type RestartableServer,
  startNats,
  startNatsCluster,
  startRedis,
  startRedisCluster,
  startRedisSentinel,
  startRestartable,
} from '@agentmesh/testing';

export const redisKinds = ['single', 'sentinel', 'cluster'] as const;
export type RedisKind = (typeof redisKinds)[number];

/** The Redis of a field: one server, a primary with a replica behind Sentinels, or a Cluster. */
export interface FieldRedis {
  readonly kind: RedisKind;
  readonly url: string;
  /** The servers with data. Sentinels are not among them. */
  readonly nodes: readonly RestartableServer[];
  /** Returns a server that accepts writes now. */
  primary(): Promise<RestartableServer>;
}

/** The NATS of a field: one server, or the nodes of a cluster. */
export interface FieldNats {
  readonly url: string;
  readonly nodes: readonly RestartableServer[];
}

/** The settings with which Redis has each acknowledged write on the disk. */
const safeArgs = ['--appendfsync', 'always'];

/** Starts Redis with users, which are lines of an ACL file. The default user has all rights. */
export async function startFieldRedis(
  owners: AsyncDisposableStack,
  kind: RedisKind,
  users: string,
): Promise<FieldRedis> {
  if (kind === 'sentinel') {
    const { url, nodes, primary } = owners.use(await startRedisSentinel({ users, extraArgs: safeArgs }));
    return { kind, url, nodes, primary };
  }
  if (kind === 'cluster') {
    const { url, nodes, primaryOf } = owners.use(await startRedisCluster({ users, extraArgs: safeArgs }));
    return { kind, url, nodes, primary: () => primaryOf('am') };
  }
  const server = owners.use(
    await startRestartable((place) => startRedis({ ...place, users, appendOnly: true, extraArgs: safeArgs })),
  );
  return { kind, url: server.url, nodes: [server], primary: async () => server };
}

export interface FieldNatsOptions {
  servers: number;
  /** The accounts and their rights. */
  configuration: string;
  /** The space on disk for JetStream, in bytes; default the server's own choice. */
  maxFileBytes?: number | undefined;
}

export async function startFieldNats(
  owners: AsyncDisposableStack,
  { servers, configuration, maxFileBytes }: FieldNatsOptions,
): Promise<FieldNats> {
  const settings = { configuration, ...(maxFileBytes !== undefined && { maxFileBytes }) };
  if (servers === 1) {
    const server = owners.use(await startRestartable((place) => startNats({ ...place, ...settings })));
    return { url: server.url, nodes: [server] };
  }
  return owners.use(await startNatsCluster({ size: servers, ...settings }));
}

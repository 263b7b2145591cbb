import { randomUUID } from 'node:crypto';
import { AsyncDisposableStack } from '@agentmesh/protocol';
import { freePort } from '../processes/free-port.ts';
import { startLocalNats } from './local-programs.ts';
import { type RestartableServer, startRestartable } from './restartable-server.ts';
import type { NatsOptions } from './server.ts';

/** A node of a cluster, with the name by which JetStream reports leaders. */
export interface ClusterNode extends RestartableServer {
  readonly name: string;
}

export interface NatsClusterOptions extends Pick<NatsOptions, 'configuration' | 'maxFileBytes'> {
  /** The number of servers; default 3. */
  size?: number;
}

export interface NatsCluster extends AsyncDisposable {
  /** The addresses of all nodes with commas between them, for clients. */
  readonly url: string;
  readonly nodes: readonly ClusterNode[];
}

/**
 * Starts NATS servers that form a cluster with JetStream, on loopback ports. Each has its own folder and may
 * be killed and started again. Always uses the local `nats-server`.
 *
 * @throws Error that says what to install, or with the error of a server
 */
export async function startNatsCluster({ size = 3, ...more }: NatsClusterOptions = {}): Promise<NatsCluster> {
  const clusterName = `c-${randomUUID().slice(0, 8)}`;
  const ports = await Promise.all(Array.from({ length: size }, () => freePort()));
  const routes = ports.map((port) => `"nats-route://127.0.0.1:${port}"`).join(', ');
  await using owners = new AsyncDisposableStack();
  const nodes = await Promise.all(
    ports.map(async (port, at) => {
      const name = `${clusterName}-${at + 1}`;
      const cluster = `cluster { name: "${clusterName}", listen: "127.0.0.1:${port}", routes: [${routes}] }`;
      const configuration = `${cluster}\n${more.configuration ?? ''}`;
      const server = await startRestartable((place) =>
        startLocalNats({ ...place, ...more, name, configuration }),
      );
      return named(owners.use(server), name);
    }),
  );
  const all = owners.move();
  return {
    url: nodes.map(({ url }) => url).join(','),
    nodes,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

function named(server: RestartableServer, name: string): ClusterNode {
  return Object.defineProperty(server, 'name', { value: name, enumerable: true }) as ClusterNode;
}

import { type NatsCluster, startNatsCluster, until } from '@agentmesh/testing';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectNats } from './connect-nats.ts';
import { provision } from './operator/provision.ts';

describe('a cluster of three servers', () => {
  let cluster: NatsCluster;
  beforeAll(async () => {
    cluster = await startNatsCluster();
    await provisioned(() =>
      provision({ url: cluster.url, agents: ['worker'], replicas: 3, ackWaitMs: 1_000 }),
    );
  });
  afterAll(() => cluster?.[Symbol.asyncDispose]());

  /** Repeats an attempt at provisioning until the cluster has elected its leaders. */
  async function provisioned(attempt: () => Promise<void>): Promise<void> {
    await until(
      () =>
        attempt().then(
          () => true,
          () => false,
        ),
      { what: 'the cluster to have a leader', timeoutMs: 30_000 },
    );
  }

  async function leader(): Promise<string | undefined> {
    const connection = await connect({ servers: cluster.url.split(',') });
    try {
      const manager = await jetstreamManager(connection, { checkAPI: false });
      return (await manager.streams.info('MESH_RUN')).cluster?.leader;
    } finally {
      await connection.close();
    }
  }

  it('does each accepted run although its leader is killed under load', async () => {
    const onError = () => {};
    await using publisher = await connectNats({ url: cluster.url, service: 'publisher', onError });
    await using worker = await connectNats({ url: cluster.url, service: 'worker', onError });
    const done = new Map<number, number>();
    const consuming = await worker.consumeRuns(
      'worker',
      async (item) => {
        const { n } = item.json() as { n: number };
        done.set(n, (done.get(n) ?? 0) + 1);
        return { done: true };
      },
      { maxConcurrency: 4 },
    );
    const accepted: number[] = [];
    let next = 0;
    const load = async (until: () => boolean) => {
      while (!until()) {
        next += 1;
        const n = next;
        // A refused run may be sent again under its id. A run is accepted when the server acknowledged it.
        for (;;) {
          try {
            await publisher.enqueue('mesh.v1.agent.worker.run.s', { n }, { messageId: `m-${n}` });
            break;
          } catch {}
        }
        accepted.push(n);
      }
    };
    const first = await leader();
    const node = cluster.nodes.find(({ name }) => name === first);
    expect(node).toBeDefined();
    let stop = false;
    const loading = load(() => stop);
    await until(() => accepted.length > 50, { what: 'some load' });
    await node?.kill();
    const before = accepted.length;
    await until(() => accepted.length > before + 100, {
      what: 'the load to go on without the leader',
      timeoutMs: 30_000,
    });
    await node?.start();
    await until(async () => (await leader()) !== undefined, { what: 'a leader', timeoutMs: 30_000 });
    stop = true;
    await loading;
    await until(() => accepted.every((n) => done.has(n)), {
      what: 'all accepted runs to be done',
      timeoutMs: 30_000,
    });
    expect(await leader()).toBeDefined();
    await consuming.stop();
  }, 120_000);
});

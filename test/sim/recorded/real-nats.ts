import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MeshError, subjects } from '@agentmesh/protocol';
import { type Server, startNats } from '@agentmesh/testing/servers';
import { createInbox, type NatsConnection } from '@nats-io/transport-node';
import type { BrokerLink } from '../../../libs/bus/src/bus/broker-link.ts';
import { createNatsLink } from '../../../libs/bus/src/nats/nats-link.ts';
import { provision } from '../../../libs/bus/src/nats/operator/provision.ts';
import { dial } from '../../../libs/bus/src/nats/wire/dial.ts';
import { ackWaitMs, agent, type RecordedServer } from './program.ts';

const names = subjects();

/** Starts a nats-server with the queues of a deployment. */
export async function startRealNats(): Promise<RecordedServer & AsyncDisposable & { version: string }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'agentmesh-recorded-'));
  let server: Server = await startNats({ dataDir });
  const { url, port } = server;
  await provision({ url, agents: [agent], ackWaitMs });
  const open = new Map<BrokerLink, NatsConnection>();
  const first = await dial({ url }, 'version', '_INBOX_version');
  const version = first.info?.version ?? '';
  await first.close();
  return {
    version,
    bucket: names.artifactBucket,
    async connect() {
      const inbox = `_INBOX_${crypto.randomUUID().slice(0, 8)}`;
      const connection = await dial({ url }, 'recorded', inbox);
      const link = createNatsLink({ connection, subjects: names, inbox: createInbox(inbox), onError() {} });
      open.set(link, connection);
      return link;
    },
    async cut(link) {
      await open.get(link)?.close();
      open.delete(link);
    },
    async restart() {
      const back = [...open.keys()].map(
        (link) => new Promise<void>((resolve) => link.onConnected(() => resolve())),
      );
      await server.kill();
      server = await startNats({ dataDir, port });
      await Promise.all(back);
    },
    async [Symbol.asyncDispose]() {
      for (const connection of open.values()) await connection.close().catch(MeshError.from);
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

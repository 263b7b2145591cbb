import { subjects } from '@agentmesh/protocol';
import { startNats } from '@agentmesh/testing/servers';
import { createInbox, type NatsConnection } from '@nats-io/nats-core';
import type { Bus } from '../bus/bus.ts';
import { busConformance } from '../conformance/index.ts';
import { createNatsLink } from './nats-link.ts';
import { openNats } from './open-nats.ts';
import { provision } from './operator/provision.ts';
import { dial } from './wire/dial.ts';

busConformance('NATS', async () => {
  const server = await startNats();
  const { url } = server;
  const connections = new WeakMap<Bus, NatsConnection>();
  const names = subjects();
  await provision({ url, agents: [] });
  return {
    async connect(service, options) {
      const { bus, connection } = await openNats({ url, service, ...options });
      connections.set(bus, connection);
      return bus;
    },
    async openLink() {
      const connection = await dial({ url }, 'plain', '_INBOX_plain');
      return createNatsLink({
        connection,
        subjects: names,
        inbox: createInbox('_INBOX_plain'),
        onError() {},
      });
    },
    provision: (agents, ackWaitMs) => provision({ url, agents, ackWaitMs }),
    // For the server a cut connection is the same as the death of the process.
    kill: async (bus) => connections.get(bus)?.close(),
    [Symbol.asyncDispose]: () => server.stop(),
  };
});

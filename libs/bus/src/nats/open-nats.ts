import { assertOptions, createReplicaId, subjects } from '@agentmesh/protocol';
import { createInbox, type NatsConnection } from '@nats-io/nats-core';
import type { Bus } from '../bus/bus.ts';
import { createBus } from '../connect/create-bus.ts';
import { createDirectory } from '../discovery/directory.ts';
import { createNatsLink } from './nats-link.ts';
import { type NatsOptions, natsOptionNames } from './nats-options.ts';
import { watchCards } from './watch-cards.ts';
import { dial } from './wire/dial.ts';

/** Does the same as `connectNats`, and returns the connection too, for tests that cut it. */
export async function openNats(options: NatsOptions): Promise<{ bus: Bus; connection: NatsConnection }> {
  assertOptions('connectNats', options ?? null, natsOptionNames);
  const { service, namespace, cards = true, onError = () => {}, heartbeatMs } = options;
  const names = subjects(namespace);
  const inboxPrefix = names.inboxPrefix(service);
  const { replica = createReplicaId(service) } = options;
  const connection = await dial(options, replica, inboxPrefix, options.connectTimeoutMs);
  const link = createNatsLink({ connection, subjects: names, inbox: createInbox(inboxPrefix), onError });
  const { directory, sink } = createDirectory(names, onError);
  if (cards) await watchCards({ connection, link, subjects: names, sink, onError });
  else sink.noteRead();
  const bus = createBus({ link, service, replica, subjects: names, directory, onError, heartbeatMs });
  return { bus, connection };
}

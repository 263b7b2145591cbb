import { assertOptions, createReplicaId, type OptionNames, subjects } from '@agentmesh/protocol';
import { createInbox, type NatsConnection } from '@nats-io/nats-core';
import type { OnError } from '../bus/broker-link.ts';
import type { Bus } from '../bus/bus.ts';
import { createBus } from '../connect/create-bus.ts';
import { createDirectory } from '../discovery/directory.ts';
import { createNatsLink } from './nats-link.ts';
import { watchCards } from './watch-cards.ts';
import { dial, type NatsAddress, natsAddressNames } from './wire/dial.ts';

export interface NatsOptions extends NatsAddress {
  /** The name of the service. Its inboxes have this name, and its NATS user may listen there. */
  service: string;
  /**
   * The id of this process among the replicas of the service, also in its logs; default a new one
   * (`createReplicaId`).
   */
  replica?: string | undefined;
  /** Default `mesh`. */
  namespace?: string | undefined;
  /** The time limit for the first connection, in ms; default 10,000. */
  connectTimeoutMs?: number | undefined;
  /**
   * Tells whether to read and watch the cards of other services; default true. False for tools, which have no
   * right to read them.
   */
  cards?: boolean;
  /**
   * The receiver of defects: exceptions of handlers, refused subscriptions, cards that cannot be read.
   * Default: none.
   */
  onError?: OnError;
  /** The interval of heartbeats in reply streams, in ms; default 1,000. */
  heartbeatMs?: number;
}

const optionNames: OptionNames<NatsOptions> = {
  ...natsAddressNames,
  service: true,
  replica: true,
  namespace: true,
  connectTimeoutMs: true,
  cards: true,
  onError: true,
  heartbeatMs: true,
};

/**
 * Connects a service to the mesh over NATS. Restores a lost connection until the bus is disposed.
 *
 * @throws MeshError `unauthenticated` at once for wrong credentials; `unavailable` when no server answers in
 * `connectTimeoutMs`
 */
export async function connectNats(options: NatsOptions): Promise<Bus> {
  return (await openNats(options)).bus;
}

/** Does the same as {@link connectNats}, and returns the connection too, for tests that cut it. */
export async function openNats(options: NatsOptions): Promise<{ bus: Bus; connection: NatsConnection }> {
  assertOptions('connectNats', options ?? null, optionNames);
  const { service, namespace, cards = true, onError = () => {}, heartbeatMs } = options;
  const names = subjects(namespace);
  const inboxPrefix = names.inboxPrefix(service);
  const { replica = createReplicaId(service) } = options;
  const connection = await dial(options, replica, inboxPrefix, options.connectTimeoutMs);
  const link = createNatsLink({ connection, subjects: names, inbox: createInbox(inboxPrefix), onError });
  const { directory, sink } = createDirectory(names, onError);
  if (cards) await watchCards({ connection, link, subjects: names, sink, onError });
  const bus = createBus({ link, service, replica, subjects: names, directory, onError, heartbeatMs });
  return { bus, connection };
}

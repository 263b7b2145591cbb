import type { OptionNames } from '@agentmesh/protocol';
import type { OnError } from '../bus/broker-link.ts';
import { type NatsAddress, natsAddressNames } from './wire/nats-address.ts';

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

export const natsOptionNames: OptionNames<NatsOptions> = {
  ...natsAddressNames,
  service: true,
  replica: true,
  namespace: true,
  connectTimeoutMs: true,
  cards: true,
  onError: true,
  heartbeatMs: true,
};

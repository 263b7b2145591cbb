import {
  JetStreamApiError,
  type JetStreamManager,
  jetstreamManager,
  type MsgRequest,
  type StoredMsg,
} from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import type { BrokerLink } from '../../bus/broker-link.ts';
import { pause } from '../../bus/pause.ts';
import { connectionWaitMs, whenConnected } from '../../bus/when-connected.ts';
import { fromNats, isNobodyThere, isTimeout } from './nats-errors.ts';
import { untilReconnect } from './until-reconnect.ts';

const attemptMs = 2_000;
const pauseMs = 100;
const noMessageCode = 10037;

/**
 * Access to a stream for reading and removing messages. Needs neither consumers nor the right to make or
 * delete streams.
 */
export interface StreamApi {
  manager(): Promise<JetStreamManager>;
  /**
   * Repeats a harmless request while the broker is away, as long as the bus waits for a connection.
   *
   * @throws MeshError
   */
  repeat<T>(doing: string, ask: () => Promise<T>): Promise<T>;
}

export function streamApi(connection: NatsConnection, link: BrokerLink): StreamApi {
  let opened: Promise<JetStreamManager> | undefined;
  return {
    manager() {
      // `checkAPI` would ask for the account's limits, for which the service would need another right.
      opened ??= jetstreamManager(connection, { checkAPI: false, timeout: attemptMs });
      return opened;
    },
    async repeat(doing, ask) {
      const startedAt = performance.now();
      for (;;) {
        await whenConnected(link);
        try {
          return await untilReconnect(link, ask());
        } catch (thrown) {
          const lost = isTimeout(thrown) || (isNobodyThere(thrown) && connection.info?.cluster !== undefined);
          if (!lost || performance.now() - startedAt > connectionWaitMs) throw fromNats(thrown, doing);
          await pause(pauseMs, link.closed);
        }
      }
    },
  };
}

/** Tells whether the error says that the stream has no such message. */
function isNoMessage(thrown: unknown): boolean {
  return thrown instanceof JetStreamApiError && thrown.code === noMessageCode;
}

/** Returns undefined when the stream has no such message. */
export async function messageOrNone<T>(reading: Promise<T | null>): Promise<T | undefined> {
  try {
    return (await reading) ?? undefined;
  } catch (thrown) {
    if (isNoMessage(thrown)) return undefined;
    throw thrown;
  }
}

/** Reads the first message of a stream with this subject, which may hold wildcards, from this number on. */
export async function messageFrom(
  { streams }: JetStreamManager,
  { stream, subject, from }: { stream: string; subject: string; from: number },
): Promise<StoredMsg | undefined> {
  // The type of the client library lacks this combination, which nats-server knows since 2.9.
  const query = { seq: Math.max(from, 1), next_by_subj: subject } as unknown as MsgRequest;
  return await messageOrNone(streams.getMessage(stream, query));
}

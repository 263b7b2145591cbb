import { JetStreamApiError, type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import type { BrokerLink } from '../../bus/broker-link.ts';
import { pause } from '../../bus/pause.ts';
import { connectionWaitMs, whenConnected } from '../../bus/when-connected.ts';
import { fromNats, isNobodyThere, isTimeout } from './nats-errors.ts';

const attemptMs = 2_000;
const pauseMs = 100;
const noMessageCode = 10037;

/** What reading and removing in a stream needs, without the right to make or delete one, and without consumers. */
export interface StreamApi {
  manager(): Promise<JetStreamManager>;
  /** Repeats what may be repeated while the broker is away, for as long as the bus waits for it. @throws MeshError */
  repeat<T>(doing: string, ask: () => Promise<T>): Promise<T>;
}

export function streamApi(connection: NatsConnection, link: BrokerLink): StreamApi {
  let opened: Promise<JetStreamManager> | undefined;
  return {
    manager() {
      // Without the check, which asks for the account's limits and would need a right of its own.
      opened ??= jetstreamManager(connection, { checkAPI: false, timeout: attemptMs });
      return opened;
    },
    async repeat(doing, ask) {
      const startedAt = performance.now();
      for (;;) {
        await whenConnected(link);
        try {
          return await ask();
        } catch (thrown) {
          const lost = isTimeout(thrown) || (isNobodyThere(thrown) && connection.info?.cluster !== undefined);
          if (!lost || performance.now() - startedAt > connectionWaitMs) throw fromNats(thrown, doing);
          await pause(pauseMs, link.closed);
        }
      }
    },
  };
}

/** The stream has no such message. */
function isNoMessage(thrown: unknown): boolean {
  return thrown instanceof JetStreamApiError && thrown.code === noMessageCode;
}

/** Undefined for a message that is not there. */
export async function messageOrNone<T>(reading: Promise<T | null>): Promise<T | undefined> {
  try {
    return (await reading) ?? undefined;
  } catch (thrown) {
    if (isNoMessage(thrown)) return undefined;
    throw thrown;
  }
}

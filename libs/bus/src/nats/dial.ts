import { setTimeout as delay } from 'node:timers/promises';
import { MeshError } from '@agentmesh/protocol';
import { AuthorizationError, type NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { fromNats, rootOf } from './errors.ts';

/** How to reach a NATS server, and as whom. */
export interface NatsAddress {
  /** `nats://host:4222`; several with commas. */
  url: string;
  user?: string | undefined;
  pass?: string | undefined;
}

const defaultConnectTimeoutMs = 10_000;
const dialPauseMs = 250;

/** Tries until a server answers; the client's own waiting has no end, and takes wrong credentials for an absent server. */
export async function dial(
  { url, user, pass }: NatsAddress,
  name: string,
  inboxPrefix: string,
  timeoutMs = defaultConnectTimeoutMs,
): Promise<NatsConnection> {
  const giveUpAt = performance.now() + timeoutMs;
  for (;;) {
    const leftMs = giveUpAt - performance.now();
    try {
      return await connect({
        servers: url.split(',').map((server) => server.trim()),
        ...(user === undefined ? {} : { user, pass: pass ?? '' }),
        name,
        inboxPrefix,
        noAsyncTraces: true,
        maxReconnectAttempts: -1,
        ignoreAuthErrorAbort: true,
        reconnectTimeWait: 250,
        reconnectJitter: 250,
        pingInterval: 5_000,
        maxPingOut: 2,
        timeout: Math.max(100, Math.min(5_000, leftMs)),
      });
    } catch (thrown) {
      if (rootOf(thrown) instanceof AuthorizationError) throw fromNats(thrown, 'connect');
      if (giveUpAt - performance.now() <= dialPauseMs) throw unreachable(url, timeoutMs, thrown);
      await delay(dialPauseMs);
    }
  }
}

function unreachable(url: string, timeoutMs: number, cause: unknown): MeshError {
  // A URL may hold a password, which must not get into a log.
  const server = url.replace(/\/\/[^@/]*@/, '//');
  return new MeshError(
    'unavailable',
    `no NATS server answers at ${server} within ${timeoutMs} ms; check the address and start the server`,
    { cause },
  );
}

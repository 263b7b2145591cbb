import { setTimeout as delay } from 'node:timers/promises';
import { MeshError, type OptionNames } from '@agentmesh/protocol';
import { AuthorizationError, type NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { fromNats, rootCause } from './nats-errors.ts';

/** How to reach a NATS server, and as whom. */
export interface NatsAddress {
  /** `nats://host:4222`; several with commas. May hold user and password, which are then used unless given apart. */
  url: string;
  user?: string | undefined;
  pass?: string | undefined;
}

export const natsAddressNames: OptionNames<NatsAddress> = { url: true, user: true, pass: true };

const defaultConnectTimeoutMs = 10_000;
const dialPauseMs = 250;

/**
 * Tries until a server answers; the client's own waiting has no end, and takes wrong credentials for an absent server.
 */
export async function dial(
  address: NatsAddress,
  name: string,
  inboxPrefix: string,
  timeoutMs = defaultConnectTimeoutMs,
): Promise<NatsConnection> {
  const { servers, ...credentials } = readAddress(address);
  const giveUpAt = performance.now() + timeoutMs;
  for (;;) {
    const leftMs = giveUpAt - performance.now();
    try {
      return await connect({
        servers,
        ...credentials,
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
      if (rootCause(thrown) instanceof AuthorizationError) throw fromNats(thrown, 'connect');
      if (giveUpAt - performance.now() <= dialPauseMs) throw unreachable(servers, timeoutMs, thrown);
      await delay(dialPauseMs);
    }
  }
}

/** The client does not look for credentials in the URL, and puts the URL into its errors: take them out. */
function readAddress({ url, user, pass }: NatsAddress) {
  const servers: string[] = [];
  let credentials = user === undefined ? undefined : { user, pass: pass ?? '' };
  for (const server of url.split(',')) {
    const [, scheme = '', userInfo, host = ''] = /^\s*(\w+:\/\/)?(?:(.*)@)?(.*?)\s*$/.exec(server) ?? [];
    servers.push(`${scheme}${host}`);
    if (userInfo === undefined || credentials) continue;
    const [urlUser = '', ...urlPass] = userInfo.split(':');
    credentials = { user: decodeURIComponent(urlUser), pass: decodeURIComponent(urlPass.join(':')) };
  }
  return { servers, ...credentials };
}

function unreachable(servers: string[], timeoutMs: number, cause: unknown): MeshError {
  return new MeshError(
    'unavailable',
    `no NATS server answers at ${servers.join(', ')} within ${timeoutMs} ms; check the address and start the server`,
    { cause },
  );
}

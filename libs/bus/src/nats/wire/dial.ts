import { setTimeout as delay } from 'node:timers/promises';
import { isAtLeast, MeshError, oldestNats } from '@agentmesh/protocol';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { closingSockets } from './closing-sockets.ts';
import { credsLogin } from './creds-login.ts';
import type { NatsAddress } from './nats-address.ts';
import { fromNats, isRefusal, isTimeout } from './nats-errors.ts';
import { readTls } from './tls.ts';

const defaultConnectTimeoutMs = 10_000;
const dialPauseMs = 250;
/** The least and the largest pause between two attempts to connect again, in ms. */
const reconnectMs = { least: 50, most: 150 };
/** The number of refused logins after which the pause grows no more: it is 3 to 10 s then. */
const mostRefusals = 7;

/**
 * Connects; tries until a server answers or the time is over. The client's own waiting has no limit, and does
 * not tell wrong credentials from an absent server.
 */
export async function dial(
  address: NatsAddress,
  name: string,
  inboxPrefix: string,
  timeoutMs = defaultConnectTimeoutMs,
  open: typeof connect = connect,
): Promise<NatsConnection> {
  const { servers, ...login } = readAddress(address);
  const tls = readTls(servers, address.tls);
  const credentials = address.credsFile === undefined ? login : credsLogin(address.credsFile, login);
  const giveUpAt = performance.now() + timeoutMs;
  const refusals = { count: 0 };
  for (;;) {
    const remainingMs = giveUpAt - performance.now();
    try {
      const options = {
        servers,
        ...credentials,
        ...(tls && { tls }),
        name,
        inboxPrefix,
        noAsyncTraces: true,
        maxReconnectAttempts: -1,
        ignoreAuthErrorAbort: true,
        // The client waits for this time since its last try at the same server.
        reconnectDelayHandler: () => pauseAfter(refusals.count),
        pingInterval: 5_000,
        maxPingOut: 2,
        timeout: Math.max(100, Math.min(5_000, remainingMs)),
      };
      const connection = await closingSockets(() => open(options));
      await assertModern(connection);
      countRefusals(connection, refusals).catch(() => {});
      return connection;
    } catch (thrown) {
      if (isRefusal(thrown)) throw fromNats(thrown, 'connect');
      if (thrown instanceof MeshError) throw thrown;
      if (giveUpAt - performance.now() <= dialPauseMs) {
        throw unreachable({ servers, timeoutMs, isEncrypted: tls !== undefined }, thrown);
      }
      await delay(dialPauseMs);
    }
  }
}

/** Closes a connection to a server that is too old. @throws MeshError `failed_precondition` */
async function assertModern(connection: NatsConnection): Promise<void> {
  const { version = oldestNats } = connection.info ?? {};
  if (isAtLeast(version, oldestNats)) return;
  await connection.close();
  throw new MeshError(
    'failed_precondition',
    `nats-server ${version} is too old: the mesh needs ${oldestNats} or newer`,
  );
}

/**
 * Counts the logins that the server has refused since the last connection. A service whose account was removed
 * would otherwise log in ten times a second for ever; a login by a key costs both sides more than other messages.
 */
async function countRefusals(connection: NatsConnection, refusals: { count: number }): Promise<void> {
  for await (const status of connection.status()) {
    if (status.type === 'reconnect') refusals.count = 0;
    if (status.type === 'error' && isRefusal(status.error)) refusals.count += 1;
  }
}

function pauseAfter(refusals: number): number {
  const { least, most } = reconnectMs;
  const factor = 2 ** Math.min(Math.max(refusals - 1, 0), mostRefusals - 1);
  return factor * (least + Math.random() * (most - least));
}

/**
 * Takes the credentials out of the URL. The client would not read them there, and would show them in its
 * errors.
 */
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

interface Attempts {
  servers: readonly string[];
  timeoutMs: number;
  isEncrypted: boolean;
}

function unreachable({ servers, timeoutMs, isEncrypted }: Attempts, cause: unknown): MeshError {
  const advice = isEncrypted
    ? `check the address and the certificates (${tlsProblem(cause)})`
    : 'check the address and start the server';
  return new MeshError(
    'unavailable',
    `no NATS server answers at ${servers.join(', ')} within ${timeoutMs} ms; ${advice}`,
    { cause, details: { absent: 'nats' } },
  );
}

/** A server that refuses the certificate of a client closes the connection, and says why in its own log only. */
function tlsProblem(cause: unknown): string {
  if (cause instanceof Error && !isTimeout(cause)) return cause.message;
  return 'the server is silent, or refuses the certificate of this process: see its log';
}

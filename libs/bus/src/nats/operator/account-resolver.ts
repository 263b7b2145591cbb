import { createReplicaId, MeshError } from '@agentmesh/protocol';
import type { NatsConnection } from '@nats-io/nats-core';
import { dial } from '../wire/dial.ts';
import type { NatsAddress } from '../wire/nats-address.ts';
import { fromNats } from '../wire/nats-errors.ts';

/** The stores of accounts of all NATS servers: the resolver of type `full`. */
export interface AccountResolver extends AsyncDisposable {
  /** The number of servers that answered when the connection was made. */
  readonly servers: number;
  /**
   * Gives the JWT of an account to all servers, which apply it at once.
   *
   * @throws MeshError `failed_precondition` when a server refuses it, `resource_exhausted` when it is too
   * large for a message, `unavailable` when a server does not answer
   */
  push(jwt: string): Promise<void>;
}

/** The part of a server's answer that is read. */
interface Answer {
  data?: { code?: number; message?: string };
  error?: { code?: number; description?: string };
}

/** Longest wait for the answers of all servers, in ms. */
const answerMs = 60_000;
/** Silence after which no further server is expected, in ms. */
const stallMs = 300;

/**
 * Connects to the system account of NATS, in which servers take accounts.
 *
 * @throws MeshError `unavailable` when no server answers; `unauthenticated` for the credentials
 */
export async function openResolver(
  options: NatsAddress & { connectTimeoutMs?: number | undefined },
): Promise<AccountResolver> {
  const connection = await dial(
    options,
    createReplicaId('operator'),
    '_INBOX_operator',
    options.connectTimeoutMs,
  );
  try {
    const servers = await countServers(connection);
    return {
      servers,
      push: (jwt) => tellAll(connection, servers, jwt),
      [Symbol.asyncDispose]: () => connection.close(),
    };
  } catch (thrown) {
    await connection.close();
    throw fromNats(thrown, 'count the servers');
  }
}

async function countServers(connection: NatsConnection): Promise<number> {
  const options = { strategy: 'stall' as const, maxWait: answerMs, stall: stallMs };
  const answers = await connection.requestMany('$SYS.REQ.SERVER.PING', '', options);
  let count = 0;
  for await (const _ of answers) count += 1;
  return Math.max(1, count);
}

async function tellAll(connection: NatsConnection, servers: number, jwt: string): Promise<void> {
  const { max_payload: limit = 0 } = connection.info ?? {};
  if (jwt.length > limit) {
    throw new MeshError(
      'resource_exhausted',
      `an account takes ${jwt.length} bytes, and a message ${limit} at most; raise max_payload in nats-server.conf`,
    );
  }
  let count = 0;
  try {
    const options = { strategy: 'count' as const, maxMessages: servers, maxWait: answerMs };
    for await (const message of await connection.requestMany('$SYS.REQ.CLAIMS.UPDATE', jwt, options)) {
      count += 1;
      assertAccepted(message.json<Answer>());
    }
  } catch (thrown) {
    throw fromNats(thrown, 'send an account to the servers');
  }
  if (count >= servers) return;
  const problem = `${count} of ${servers} NATS servers took the account`;
  throw new MeshError('unavailable', `${problem}; run the command again when all servers are up`);
}

function assertAccepted({ data, error }: Answer): void {
  const problem = error ? (error.description ?? String(error.code)) : problemOf(data);
  if (problem === undefined) return;
  throw new MeshError('failed_precondition', `a NATS server refuses the account: ${problem}`);
}

function problemOf({ code = 0, message = '' }: NonNullable<Answer['data']> = {}): string | undefined {
  return code === 200 ? undefined : `${code} ${message}`;
}

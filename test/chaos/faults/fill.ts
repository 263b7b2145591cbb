import { setTimeout as delay } from 'node:timers/promises';
import { provisionUser } from '@agentmesh/mesh';
import { subjects } from '@agentmesh/protocol';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { Redis } from 'ioredis';
import type { Field } from '../field.ts';

/** Leaves the only Redis server without memory for a time: it then refuses every write. */
export async function fillRedis({ redis }: Field, forMs: number, signal: AbortSignal): Promise<void> {
  const admin = new Redis(redis.url, { maxRetriesPerRequest: 2, retryStrategy: () => 100 });
  admin.on('error', () => {});
  try {
    await admin.config('SET', 'maxmemory', '1');
    await delay(forMs, undefined, { signal }).catch(() => {});
  } catch {
    // Another fault has hit the server, and its restart ends the fullness.
  } finally {
    await emptyRedis(admin);
    admin.disconnect();
  }
}

async function emptyRedis(admin: Redis): Promise<void> {
  for (;;) {
    try {
      await admin.config('SET', 'maxmemory', '0');
      return;
    } catch {
      await delay(100);
    }
  }
}

/** The space on disk of a NATS server that may be filled, in bytes. */
export const fillableBytes = 48 * 1024 * 1024;

const fillStream = 'CHAOS_FILL';
const fillSubject = 'chaos.fill';
const pieceBytes = 900_000;

/**
 * Takes all space on disk of NATS for a time, with a stream of its own, and then removes the stream. Needs a
 * field with a limit of the space.
 */
export async function fillNats({ natsUrl, login }: Field, forMs: number, signal: AbortSignal): Promise<void> {
  const connection = await connect({
    servers: natsUrl.split(','),
    ...login(provisionUser),
    inboxPrefix: subjects().inboxPrefix(provisionUser),
    maxReconnectAttempts: -1,
    reconnectTimeWait: 100,
  });
  try {
    const config = { name: fillStream, subjects: [fillSubject], storage: 'file', retention: 'limits' };
    await call(connection, `STREAM.CREATE.${fillStream}`, config);
    const piece = 'z'.repeat(pieceBytes);
    for (let left = 2 * Math.ceil(fillableBytes / pieceBytes); left > 0 && !signal.aborted; left -= 1) {
      const reply = await connection.request(fillSubject, piece, { timeout: 2_000 }).catch(() => undefined);
      if (!reply || 'error' in reply.json<object>()) break;
    }
    await delay(forMs, undefined, { signal }).catch(() => {});
  } finally {
    while ((await call(connection, `STREAM.DELETE.${fillStream}`)) === undefined) await delay(100);
    await connection.close();
  }
}

/** Calls JetStream's API. Returns undefined when the server does not answer. */
async function call(
  connection: NatsConnection,
  what: string,
  body: object = {},
): Promise<object | undefined> {
  const request = connection.request(`$JS.API.${what}`, JSON.stringify(body), { timeout: 2_000 });
  const reply = await request.catch(() => undefined);
  return reply?.json<object>();
}

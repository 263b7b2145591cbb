import { setTimeout as delay } from 'node:timers/promises';
import { openWorkStreams } from '@agentmesh/bus';
import { provisionUser } from '@agentmesh/mesh';
import type { NatsConnection } from '@nats-io/transport-node';
import { Redis } from 'ioredis';
import { now } from '../check/history.ts';
import { connectAs } from '../field/logins.ts';
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
/** The age from which a payload that no message names is lost, in ms. */
const lostMs = 60_000;
/** The time in which NATS must have given back the space of a deleted stream, in ms. */
const releaseMs = 3_000;

/**
 * Takes all space on disk of NATS for a time, with a stream of its own, and then removes the stream. Needs a
 * field with a limit of the space.
 */
export async function fillNats(field: Field, forMs: number, signal: AbortSignal): Promise<void> {
  const { natsUrl, login } = field;
  const connection = await connectAs(natsUrl, provisionUser, login(provisionUser), {
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
    await sweepPayloads(field);
    if (!(await isReleased(connection))) await restartNats(field);
    await connection.close();
  }
}

/**
 * Removes large payloads that no message needs, as an operator does: behind accounts no service may remove them, and
 * those of a long run would fill the space for good.
 */
async function sweepPayloads({ natsUrl: url, login }: Field): Promise<void> {
  try {
    await using streams = await openWorkStreams({ url, ...login(provisionUser) });
    await streams.removeLostPayloads(lostMs);
  } catch {
    // The server may be away by another fault; the next sweep comes.
  }
}

/** Tells whether NATS has the space back soon. */
async function isReleased(connection: NatsConnection): Promise<boolean> {
  const giveUpAt = performance.now() + releaseMs;
  for (;;) {
    const info = (await call(connection, 'INFO')) as { storage?: number } | undefined;
    if ((info?.storage ?? fillableBytes) < fillableBytes / 2) return true;
    if (performance.now() > giveUpAt) return false;
    await delay(100);
  }
}

/** Restarts the NATS servers, which then count anew; an operator would have to do the same. */
async function restartNats({ nats, log }: Field): Promise<void> {
  for (const server of nats) {
    log.faults.push({ at: now(), kind: 'restart', target: 'nats' });
    await server.stop();
    await server.start();
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

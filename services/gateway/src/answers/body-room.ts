import type { FastifyInstance, FastifyRequest } from 'fastify';
import { refusedAnswer } from './advice.ts';
import { HeldBytes, type Hold } from './held-bytes.ts';
import { type BodyPace, hurriedBody } from './hurried-body.ts';

/** Size from which a body counts, in bytes. */
const largeBytes = 65_536;
/** The bytes of large bodies that are in memory at once, where each is several times, and those of one caller. */
const most = { ofAll: 33_554_432, ofOne: 16_777_216 };
const again = { advice: 'try again in 1 s', mayRepeat: true };
const waiting = { waitMs: 20_000, mostOfOne: 200, mostWaiting: 2_000 };
/** The slowest pace of a body for whose room others wait: a body of 10 MiB has 13 s, less than others wait. */
const slowest: BodyPace = { graceMs: 3_000, leastRate: 1_048_576 };

const holds = new WeakMap<FastifyRequest, () => void>();

/**
 * Lets a few large bodies come at once: further requests wait before their bodies are read, and callers take no more
 * than half of the room. A body counts until the answer is over, or until {@link forgetBody}; a slow one gives way
 * to those that wait.
 *
 * @param isStreamed tells whether the body of a request comes as a stream, which takes no memory
 */
export function limitBodies(
  server: FastifyInstance,
  {
    bodyLimit,
    nameOf,
    isStreamed,
    pace = slowest,
  }: {
    bodyLimit: number;
    pace?: BodyPace;
    nameOf: (request: FastifyRequest) => string;
    isStreamed: (request: FastifyRequest) => boolean;
  },
): void {
  const all = new HeldBytes({ most: most.ofAll, ...waiting });
  const own = new Map<string, { room: HeldBytes; users: number }>();

  async function take(request: FastifyRequest, bytes: number, signal: AbortSignal): Promise<() => void> {
    const name = nameOf(request);
    const mine = own.get(name) ?? { room: new HeldBytes({ most: most.ofOne, ...waiting }), users: 0 };
    own.set(name, mine);
    mine.users += 1;
    const taken: Hold[] = [];
    const release = () => {
      for (const hold of taken.splice(0)) hold.release();
      mine.users -= 1;
      if (mine.users === 0) own.delete(name);
    };
    try {
      for (const room of [mine.room, all]) taken.push(await room.wait(name, bytes, { ...again, signal }));
      return release;
    } catch (error) {
      release();
      if (signal.aborted) throw error;
      throw refusedAnswer('this gateway reads too many large bodies at once', again);
    }
  }

  server.addHook('preParsing', async (request, reply, payload) => {
    const bytes = bodyBytes(request, bodyLimit);
    if (bytes <= largeBytes || bytes > bodyLimit || isStreamed(request)) return payload;
    const gone = new AbortController();
    const { raw } = reply;
    let release = () => gone.abort();
    let isOver = false;
    const end = () => {
      if (isOver) return;
      isOver = true;
      release();
    };
    raw.once('close', end);
    if (raw.destroyed) end();
    const taken = await take(request, bytes, gone.signal);
    if (isOver) taken();
    release = taken;
    holds.set(request, end);
    return hurriedBody(payload, reply, { bytes, pace, isWanted: () => all.isWanted });
  });
}

/** Forgets the body of a request that nobody needs any more, and makes room for others. */
export function forgetBody(request: FastifyRequest): void {
  request.body = undefined;
  holds.get(request)?.();
}

/** Returns the size that a request gives for its body; the limit if it gives none. */
function bodyBytes({ headers }: FastifyRequest, bodyLimit: number): number {
  if (headers['transfer-encoding'] !== undefined) return bodyLimit;
  return Number(headers['content-length'] ?? 0);
}

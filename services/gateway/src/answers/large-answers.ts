import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { collectGarbage, type Logger } from '@agentmesh/service';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { LargeAnswers, LargeRead, Parts } from '../context/large-answers.ts';
import type { Advice } from './advice.ts';
import { FairTurns } from './fair-turns.ts';
import { adviceFor, sliceBytes, slicesOf } from './held-answers.ts';
import type { HeldBytes, Hold } from './held-bytes.ts';

/**
 * The reads that are at work at once: each may have a part of a session in memory several times, as bytes, as objects
 * and as text, and Redis answers all of them within its time limit.
 */
const reads = { atOnce: 2, waitMs: 20_000, mostOfOne: 100, most: 2_000 };
/**
 * The size of an answer, in bytes, from which on the garbage of reading it is worth a collection, and the time from one
 * collection to the next, at least, in ms: each stops the gateway for some 50 to 100 ms.
 */
const garbage = { leastBytes: 4_194_304, restMs: 500 };
/** Time for which a further part waits until other clients have read theirs, and the pause between two looks, in ms. */
const room = { waitMs: 2_000, pauseMs: 50 };

interface LargeAnswersOptions {
  held: HeldBytes;
  /** Returns the name of the caller of a request: callers take turns. */
  nameOf: (request: FastifyRequest) => string;
  log: Pick<Logger, 'warn'>;
}

/** The value that was read, and the hold of its bytes if it is large. */
interface Kept<T> {
  value: T;
  hold: Hold | undefined;
}

/** A client that waits for its answer, with advice for the case that the answer is refused. */
interface Waiting extends Advice {
  signal: AbortSignal;
}

/** Returns the way to read and to send what may be large, in bounded memory. */
export function largeAnswers({ held, nameOf, log }: LargeAnswersOptions): LargeAnswers {
  const turns = new FairTurns(reads);
  const stateTurns = new FairTurns({ ...reads, mostOfOne: reads.most });
  const wholeTurns = new FairTurns({ ...reads, atOnce: 1 });
  const inTurn = <T>(request: FastifyRequest, work: () => Promise<T>, advice?: Advice) =>
    turns.run(nameOf(request), work, advice);

  /** Reads, and holds the bytes. Without room it forgets what it has read, waits for room, and reads again. */
  async function keep<T, R>(
    request: FastifyRequest,
    { read, sizeOf, use }: Pick<LargeRead<T>, 'read' | 'sizeOf'> & { use: (kept: Kept<T>) => R },
    waiting: Waiting,
  ): Promise<R> {
    const first = await inTurn(
      request,
      async () => {
        const value = await read();
        const size = sizeOf(value);
        const hold = size > sliceBytes ? held.tryHold(size) : undefined;
        return hold || size <= sliceBytes ? { size, used: [use({ value, hold })] as const } : { size };
      },
      waiting,
    );
    collectAfter(first.size);
    if (first.used) return first.used[0];
    const hold = await held.wait(nameOf(request), first.size, waiting);
    try {
      return await inTurn(
        request,
        async () => {
          const value = await read();
          hold.resize(sizeOf(value));
          return use({ value, hold });
        },
        waiting,
      );
    } catch (error) {
      hold.release();
      throw error;
    }
  }

  async function send(
    request: FastifyRequest,
    reply: FastifyReply,
    make: () => Parts,
  ): Promise<FastifyReply> {
    using client = untilGone(reply);
    const waiting = { ...adviceFor(reply), signal: client.signal };
    const first: LargeRead<Beginning> = {
      read: () => firstParts(make()),
      sizeOf: ({ bytes }) => bytes?.length ?? 0,
      encode: ({ bytes }) => bytes ?? Buffer.alloc(0),
    };
    const { value: beginning, hold } = await keep(request, { ...first, use: (kept) => kept }, waiting);
    const { isAll, parts } = beginning;
    if (isAll && !hold) return reply.send(beginning.bytes);
    reply.raw.once('close', () => hold?.release());
    if (isAll) reply.header('content-length', beginning.bytes?.length);
    const nextPart = () =>
      inTurn(request, async () => {
        const next = parts.next();
        if (next.done) return undefined;
        const bytes = Buffer.from(await next.value());
        const giveUpAt = performance.now() + room.waitMs;
        // The hold does not become smaller: the room might be gone when a further part is large.
        while (hold && bytes.length > hold.bytes && !hold.resize(bytes.length)) {
          if (performance.now() > giveUpAt) throw new Error('other clients do not read their answers');
          await delay(room.pauseMs);
        }
        return bytes;
      });

    async function* all() {
      try {
        for (let part = take(beginning); part; part = isAll ? undefined : await nextPart())
          yield* slicesOf(part);
      } catch (error) {
        // The status was sent already, so the client learns of the end by the missing rest.
        log.warn({ err: error, route: request.routeOptions.url }, 'could not send the rest of an answer');
        reply.raw.destroy();
      } finally {
        hold?.release();
      }
    }
    return reply.send(Readable.from(all(), { objectMode: false, highWaterMark: sliceBytes }));
  }

  return {
    read: inTurn,
    readState: (request, work) => stateTurns.run(nameOf(request), work),
    readWhole: (request, work) => wholeTurns.run(nameOf(request), work),
    async readHeld(request, { encode, ...what }, signal) {
      const use = ({ value, hold }: Kept<Parameters<typeof encode>[0]>) => {
        const bytes = encode(value);
        hold?.resize(bytes.length);
        return { bytes, release: () => hold?.release() };
      };
      const advice = 'read on from the last id that came';
      return await keep(request, { ...what, use }, { advice, mayRepeat: false, signal });
    },
    sendJson: (request, reply, parts) => send(request, reply.type('application/json; charset=utf-8'), parts),
    sendLines: (request, reply, parts) => send(request, reply.type('application/x-ndjson'), parts),
  };
}

let collectedAt = Number.NEGATIVE_INFINITY;

/** Frees what a read of this size has left: V8 collects large texts late, and the next ones would come beside it. */
function collectAfter(bytes: number): void {
  if (bytes < garbage.leastBytes || performance.now() - collectedAt < garbage.restMs) return;
  collectGarbage();
  collectedAt = performance.now();
}

/** Returns a signal that aborts when the client has gone. */
function untilGone({ raw }: FastifyReply): Disposable & { signal: AbortSignal } {
  const gone = new AbortController();
  const onClose = () => gone.abort();
  raw.once('close', onClose);
  if (raw.destroyed) onClose();
  return { signal: gone.signal, [Symbol.dispose]: () => raw.off('close', onClose) };
}

interface Beginning {
  bytes: Buffer | undefined;
  /** True if no part follows. */
  isAll: boolean;
  /** The rest. */
  parts: Parts;
}

/** Reads parts until they are all, or large. */
async function firstParts(parts: Parts): Promise<Beginning> {
  const texts: string[] = [];
  for (let length = 0; length <= sliceBytes; length += texts.at(-1)?.length ?? 0) {
    const next = parts.next();
    if (next.done) return { bytes: Buffer.from(texts.join('')), isAll: true, parts };
    texts.push(await next.value());
  }
  return { bytes: Buffer.from(texts.join('')), isAll: false, parts };
}

/** Returns the bytes, which their holder then forgets. */
function take(beginning: Beginning): Buffer | undefined {
  const { bytes } = beginning;
  beginning.bytes = undefined;
  return bytes;
}

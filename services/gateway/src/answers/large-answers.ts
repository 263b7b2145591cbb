import { Readable } from 'node:stream';
import type { Logger } from '@agentmesh/service';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { LargeAnswers, Parts } from '../context/large-answers.ts';
import { FairTurns } from './fair-turns.ts';
import { adviceFor, sliceBytes, slicesOf } from './held-answers.ts';
import type { HeldBytes } from './held-bytes.ts';

/**
 * The reads that are at work at once: each may have a part of a session in memory several times, as bytes, as objects
 * and as text, and Redis answers all of them within its time limit.
 */
const reads = { atOnce: 2, waitMs: 20_000, mostOfOne: 100, most: 2_000 };
/** Time for which a part waits until other clients have read theirs, in ms. */
const roomMs = 2_000;

interface LargeAnswersOptions {
  held: HeldBytes;
  /** Returns the name of the caller of a request: callers take turns. */
  nameOf: (request: FastifyRequest) => string;
  log: Pick<Logger, 'warn'>;
}

/** Returns the way to read and to send what may be large, in bounded memory. */
export function largeAnswers({ held, nameOf, log }: LargeAnswersOptions): LargeAnswers {
  const turns = new FairTurns(reads);
  const inTurn = <T>(request: FastifyRequest, work: () => Promise<T>) => turns.run(nameOf(request), work);

  async function send(request: FastifyRequest, reply: FastifyReply, parts: Parts): Promise<FastifyReply> {
    const beginning = await inTurn(request, () => firstParts(parts));
    if (beginning.isAll) return reply.send(beginning.bytes);
    let release: (() => void) | undefined = held.hold(beginning.bytes.length, adviceFor(reply));
    reply.raw.once('close', () => release?.());
    const nextPart = () =>
      inTurn(request, async () => {
        release?.();
        const next = parts.next();
        if (next.done) return undefined;
        const bytes = Buffer.from(await next.value());
        release = await held.holdNext(bytes.length, roomMs);
        if (release) return bytes;
        throw new Error('other clients do not read their answers');
      });

    async function* all() {
      try {
        for (let part = take(beginning); part; part = await nextPart()) yield* slicesOf(part);
      } catch (error) {
        // The status was sent already, so the client learns of the end by the missing rest.
        log.warn({ err: error, route: request.routeOptions.url }, 'could not send the rest of an answer');
        reply.raw.destroy();
      } finally {
        release?.();
      }
    }
    return reply.send(Readable.from(all(), { objectMode: false, highWaterMark: sliceBytes }));
  }

  return {
    read: inTurn,
    sendJson: (request, reply, parts) => send(request, reply.type('application/json; charset=utf-8'), parts),
    sendLines: (request, reply, parts) => send(request, reply.type('application/x-ndjson'), parts),
  };
}

interface Beginning {
  bytes: Buffer | undefined;
  /** True if no part follows. */
  isAll: boolean;
}

/** Reads parts until they are all, or large. */
async function firstParts(parts: Parts): Promise<{ bytes: Buffer; isAll: boolean }> {
  const texts: string[] = [];
  for (let length = 0; length <= sliceBytes; length += texts.at(-1)?.length ?? 0) {
    const next = parts.next();
    if (next.done) return { bytes: Buffer.from(texts.join('')), isAll: true };
    texts.push(await next.value());
  }
  return { bytes: Buffer.from(texts.join('')), isAll: false };
}

/** Returns the bytes, which their holder then forgets. */
function take(beginning: Beginning): Buffer | undefined {
  const { bytes } = beginning;
  beginning.bytes = undefined;
  return bytes;
}

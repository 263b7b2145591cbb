import { createHash } from 'node:crypto';
import { MeshError, parse } from '@agentmesh/protocol';
import type { NatsConnection } from '@nats-io/nats-core';
import { z } from 'zod';
import type { StreamApi } from '../wire/jetstream-api.ts';

/** The record of an object in the Object Store of NATS (its ADR-20). */
export const objectInfoSchema = z.object({
  name: z.string(),
  nuid: z.string().regex(/^[\w-]+$/),
  size: z.number().int().min(0),
  chunks: z.number().int().min(0),
  digest: z.string(),
  mtime: z.string().optional(),
  deleted: z.boolean().optional(),
  metadata: z.record(z.string(), z.string()).nullish(),
});
export type ObjectInfo = z.infer<typeof objectInfoSchema>;

/** The beginning of a digest that is the SHA-256 of an object. */
export const digestPrefix = 'SHA-256=';

export const digestOf = (hash: Buffer) => `${digestPrefix}${paddedBase64url(hash)}`;

/**
 * The metadata key for the stream number of the first piece. Without it the server would search from the
 * start of the stream.
 */
export const firstSeqKey = 'first-seq';

/** The subjects under which a bucket stores an object. */
export interface ObjectSubjects {
  info(name: string): string;
  chunks(nuid: string): string;
}

export function objectSubjects(bucket: string): ObjectSubjects {
  return {
    info: (name) => `$O.${bucket}.M.${paddedBase64url(Buffer.from(name))}`,
    chunks: (nuid) => `$O.${bucket}.C.${nuid}`,
  };
}

function paddedBase64url(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('+', '-').replaceAll('/', '_');
}

const attemptMs = 2_000;
/** The answer of JetStream to a request for a message, without the message's data. */
const answerSchema = z.object({
  error: z.object({ code: z.number(), err_code: z.number().optional(), description: z.string() }).optional(),
  message: z.object({ seq: z.number().int() }).optional(),
});

export interface ChunkSource {
  connection: NatsConnection;
  api: StreamApi;
  stream: string;
  /** The subject of the object's chunks. */
  subject: string;
  /** No chunk has a smaller number. */
  firstSeq: number;
}

/**
 * Reads the chunks of an object, one chunk for each pull, each by the number that follows the number of the
 * previous chunk. The client library would use a consumer; a service with the right to make consumers could
 * let the server send the contents of the bucket to any subject.
 */
export function readChunks(source: ChunkSource, info: ObjectInfo): ReadableStream<Uint8Array> {
  const hash = createHash('sha256');
  let seq = source.firstSeq;
  let remaining = info.size;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (remaining > 0) {
          const chunk = await readChunk(source, seq);
          if (!chunk || chunk.bytes.length === 0)
            throw new MeshError('unavailable', `object ${info.name} was deleted while it was read`);
          seq = chunk.seq + 1;
          remaining -= chunk.bytes.length;
          hash.update(chunk.bytes);
          controller.enqueue(chunk.bytes);
        }
        if (remaining > 0) return;
        if (remaining < 0 || digestOf(hash.digest()).replace(/=+$/, '') !== info.digest.replace(/=+$/, ''))
          throw new MeshError('internal', `object ${info.name} is not what was stored`);
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

/** Returns the first piece of an object from a number on. */
export async function readChunk(
  { connection, api, stream, subject }: ChunkSource,
  seq: number,
): Promise<{ seq: number; bytes: Uint8Array } | undefined> {
  const body = JSON.stringify({ seq, next_by_subj: subject });
  const to = `$JS.API.STREAM.MSG.GET.${stream}`;
  const { data } = await api.repeat(`read ${stream}`, () =>
    connection.request(to, body, { timeout: attemptMs }),
  );
  return readAnswer(Buffer.from(data.buffer, data.byteOffset, data.byteLength), stream);
}

const dataStart = '"data":"';

/**
 * Reads an answer of JetStream. Cuts the data out by hand: a JSON parser would copy the text of a large file
 * three times.
 */
function readAnswer(answer: Buffer, stream: string): { seq: number; bytes: Uint8Array } | undefined {
  const at = answer.indexOf(dataStart);
  const start = at < 0 ? answer.length : at + dataStart.length;
  const end = at < 0 ? answer.length : answer.indexOf(0x22, start);
  const rest = answer.toString('utf8', 0, start) + answer.toString('utf8', end);
  const { error, message } = parse(answerSchema, JSON.parse(rest), 'the answer of JetStream');
  if (error?.err_code === 10037 || (error === undefined && message === undefined)) return undefined;
  if (error || !message) throw new MeshError('unavailable', `read ${stream}: ${error?.description}`);
  return { seq: message.seq, bytes: Buffer.from(answer.toString('latin1', start, end), 'base64') };
}

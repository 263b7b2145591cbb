import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { JetStreamClient } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import type { BrokerLink } from '../../bus/broker-link.ts';
import { untilStored } from '../wire/enqueue.ts';
import { chunksOf } from './chunks.ts';
import { digestOf, firstSeqKey, type ObjectSubjects } from './object-reader.ts';

/** The number of bytes of an object in one message. */
const chunkBytes = 64 * 1024;

export interface ObjectWriter {
  connection: NatsConnection;
  link: BrokerLink;
  js: JetStreamClient;
  bucket: string;
  subjects: ObjectSubjects;
}

/**
 * Stores a stream as a new object. Calls `onId` with the object's id before anything is sent. When the stream
 * fails, the pieces that are already stored stay.
 */
export async function writeObject(
  writer: ObjectWriter,
  bytes: AsyncIterable<Uint8Array>,
  metadata: Record<string, string>,
  onId: (id: string) => void,
): Promise<{ id: string; size: number }> {
  const id = randomBytes(16).toString('hex');
  onId(id);
  const totals = await writeChunks(writer, id, bytes);
  await writeInfo(writer, objectInfo(writer.bucket, id, totals, metadata));
  return { id, size: totals.size };
}

/** The facts about the stored pieces of an object. */
interface Totals {
  size: number;
  chunks: number;
  digest: string;
  firstSeq: number;
}

/** Makes the record of an object. */
export function objectInfo(
  bucket: string,
  id: string,
  { firstSeq, ...totals }: Totals,
  metadata: Record<string, string>,
) {
  return {
    name: id,
    bucket,
    nuid: id,
    ...totals,
    mtime: new Date().toISOString(),
    options: { max_chunk_size: chunkBytes },
    metadata: { ...metadata, [firstSeqKey]: String(firstSeq) },
  };
}

/**
 * Stores the record of an object: from now on readers find the object. The record has no rollup, because each object
 * has one, and the ids of messages are random, because a service that knew them could publish under them first.
 */
export async function writeInfo(
  { connection, link, js, bucket, subjects }: ObjectWriter,
  info: ReturnType<typeof objectInfo>,
): Promise<void> {
  const msgID = `${randomUUID()}.info`;
  await untilStored(connection, link, `write to ${bucket}`, () =>
    js.publish(subjects.info(info.name), JSON.stringify(info), { msgID }),
  );
}

/**
 * Writes the pieces one after the other, each under an id: a lost acknowledgement neither doubles a piece nor
 * changes the order.
 */
async function writeChunks(
  { connection, link, js, bucket, subjects }: ObjectWriter,
  id: string,
  bytes: AsyncIterable<Uint8Array>,
): Promise<Totals> {
  const hash = createHash('sha256');
  const nonce = randomUUID();
  let [size, chunks, firstSeq] = [0, 0, 0];
  for await (const chunk of chunksOf(bytes, chunkBytes)) {
    const msgID = `${nonce}.${chunks}`;
    const ack = await untilStored(connection, link, `write to ${bucket}`, () =>
      js.publish(subjects.chunks(id), chunk, { msgID }),
    );
    if (chunks === 0) firstSeq = ack.seq;
    hash.update(chunk);
    size += chunk.length;
    chunks += 1;
  }
  return { size, chunks, digest: digestOf(hash.digest()), firstSeq };
}

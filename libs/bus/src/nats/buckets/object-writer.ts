import { createHash, randomBytes } from 'node:crypto';
import { type JetStreamClient, JsHeaders } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/nats-core';
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
  const { bucket, js, subjects } = writer;
  const id = randomBytes(16).toString('hex');
  onId(id);
  const store = <T>(publish: () => Promise<T>) =>
    untilStored(writer.connection, writer.link, `write to ${bucket}`, publish);
  const { firstSeq, ...totals } = await writeChunks(writer, id, bytes);
  const info = {
    name: id,
    bucket,
    nuid: id,
    ...totals,
    mtime: new Date().toISOString(),
    options: { max_chunk_size: chunkBytes },
    metadata: { ...metadata, [firstSeqKey]: String(firstSeq) },
  };
  const options = { headers: headers(), msgID: `${id}.info` };
  options.headers.set(JsHeaders.RollupHdr, JsHeaders.RollupValueSubject);
  await store(() => js.publish(subjects.info(id), JSON.stringify(info), options));
  return { id, size: totals.size };
}

/**
 * Writes the pieces one after the other, each under an id: a lost acknowledgement neither doubles a piece nor
 * changes the order.
 */
async function writeChunks(
  { connection, link, js, bucket, subjects }: ObjectWriter,
  id: string,
  bytes: AsyncIterable<Uint8Array>,
) {
  const hash = createHash('sha256');
  let [size, chunks, firstSeq] = [0, 0, 0];
  for await (const chunk of chunksOf(bytes, chunkBytes)) {
    const msgID = `${id}.${chunks}`;
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

import { type ObjectBucket, type ObjectPieces, otherPieces } from '../../bus/buckets.ts';
import { untilStored } from '../wire/enqueue.ts';
import type { StreamApi } from '../wire/jetstream-api.ts';
import { type ChunkSource, digestPrefix, readChunk } from './object-reader.ts';
import { type ObjectWriter, objectInfo, writeInfo } from './object-writer.ts';

/** A bucket whose objects several processes write piece by piece. */
export interface PieceStore {
  writer: ObjectWriter;
  api: StreamApi;
  stream: string;
  /** Returns the place of the first piece of a complete object; undefined when there is no such object. */
  firstOf(id: string): Promise<number | undefined>;
}

/** Returns the methods of a bucket for objects that are written and read piece by piece. */
export function objectPieces({
  writer,
  api,
  stream,
  firstOf,
}: PieceStore): Pick<ObjectBucket, 'putPiece' | 'complete' | 'pieceCount' | 'piece'> {
  const { connection, link, js, bucket, subjects } = writer;

  /** Counts the stored pieces: a lost or a doubled piece would make the object another one. */
  async function count(id: string): Promise<number> {
    const subject = subjects.chunks(id);
    const { state } = await api.repeat(`read ${bucket}`, async () =>
      (await api.manager()).streams.info(stream, { subjects_filter: subject }),
    );
    return state.subjects?.[subject] ?? 0;
  }

  return {
    async putPiece(id, index, bytes) {
      const ack = await untilStored(connection, link, `write to ${bucket}`, () =>
        js.publish(subjects.chunks(id), bytes, { msgID: `${id}.${index}` }),
      );
      return ack.seq;
    },

    async complete(id, pieces: ObjectPieces, metadata = {}) {
      const stored = await count(id);
      if (stored !== pieces.count) throw otherPieces(pieces.count, stored);
      const { size, first: firstSeq } = pieces;
      const digest = `${digestPrefix}${pieces.digest}=`;
      await writeInfo(writer, objectInfo(bucket, id, { size, chunks: stored, digest, firstSeq }, metadata));
    },

    pieceCount: count,

    async piece(id, from) {
      const firstSeq = from === 0 ? await firstOf(id) : from;
      if (firstSeq === undefined) return undefined;
      const source: ChunkSource = { connection, api, stream, subject: subjects.chunks(id), firstSeq };
      const chunk = await readChunk(source, firstSeq);
      return chunk && { bytes: chunk.bytes, next: chunk.seq + 1 };
    },
  };
}

import { createHash, randomUUID } from 'node:crypto';
import { type ObjectBucket, otherPieces, type RecordBucket, type StoredObject } from '../bus/buckets.ts';

/** Buckets as in JetStream. The first use makes a bucket. */
export interface MemoryBuckets {
  objects(bucket: string): ObjectBucket;
  records(bucket: string): RecordBucket;
}

type MemoryObject = StoredObject & { chunks: Uint8Array[] };

function digestOf(chunks: readonly Uint8Array[]): string {
  const hash = createHash('sha256');
  for (const chunk of chunks) hash.update(chunk);
  return hash.digest('base64url');
}

export function createBuckets(): MemoryBuckets {
  const objects = new Map<string, ObjectBucket>();
  const records = new Map<string, RecordBucket>();
  const get = <T>(from: Map<string, T>, name: string, make: () => T): T => {
    const bucket = from.get(name) ?? make();
    from.set(name, bucket);
    return bucket;
  };
  return {
    objects: (bucket) => get(objects, bucket, memoryObjects),
    records: (bucket) => get(records, bucket, memoryRecords),
  };
}

function memoryObjects(): ObjectBucket {
  const kept = new Map<string, MemoryObject>();
  /** The pieces of unfinished objects. */
  const unfinished = new Map<string, Uint8Array[]>();
  const info = (id: string): StoredObject | undefined => {
    const { chunks: _chunks, ...stored } = kept.get(id) ?? {};
    return 'size' in stored ? structuredClone(stored) : undefined;
  };
  return {
    async put(bytes, metadata = {}) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of bytes) chunks.push(chunk.slice());
      const id = randomUUID();
      const size = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
      const digest = digestOf(chunks);
      kept.set(id, { size, createTime: Date.now(), metadata: { ...metadata }, digest, chunks });
      return { id, size };
    },
    async putPiece(id, index, bytes) {
      const chunks = unfinished.get(id) ?? [];
      chunks[index] ??= bytes.slice();
      unfinished.set(id, chunks);
      return index;
    },
    async complete(id, { count, size, digest }, metadata = {}) {
      if (kept.has(id)) return;
      const chunks = unfinished.get(id) ?? [];
      if (chunks.length !== count) throw otherPieces(count, chunks.length);
      kept.set(id, { size, createTime: Date.now(), metadata: { ...metadata }, digest, chunks });
      unfinished.delete(id);
    },
    pieceCount: async (id) => (kept.get(id)?.chunks ?? unfinished.get(id) ?? []).length,
    async piece(id, from) {
      const bytes = kept.get(id)?.chunks[from];
      return bytes && { bytes: bytes.slice(), next: from + 1 };
    },
    info: async (id) => info(id),
    async open(id) {
      const stored = info(id);
      const bytes = ReadableStream.from(
        (kept.get(id)?.chunks ?? []).filter(({ length }) => length > 0).map((chunk) => chunk.slice()),
      );
      return stored && { ...stored, bytes };
    },
    async delete(id) {
      kept.delete(id);
      unfinished.delete(id);
    },
    ids: async () => [...kept.keys(), ...unfinished.keys()],
    lastWritten: async (id) => kept.get(id)?.createTime,
  };
}

function memoryRecords(): RecordBucket {
  const kept = new Map<string, { value: Uint8Array; revision: number }>();
  let last = 0;
  const isCurrent = (key: string, revision: number) => (kept.get(key)?.revision ?? 0) === revision;
  return {
    isReadable: async () => true,
    async read(key) {
      const { value, revision = 0 } = kept.get(key) ?? {};
      return { value: value?.slice(), revision };
    },
    async write(key, value, revision) {
      if (!isCurrent(key, revision)) return false;
      last += 1;
      kept.set(key, { value: value.slice(), revision: last });
      return true;
    },
    async remove(key, revision) {
      if (!isCurrent(key, revision)) return false;
      kept.delete(key);
      return true;
    },
    async keys(...tokens) {
      const start = tokens.map((token) => `${token}.`).join('');
      return [...kept.keys()].filter((key) => key.startsWith(start));
    },
  };
}

import { createHash, randomBytes } from 'node:crypto';
import { parse } from '@agentmesh/protocol';
import { jetstream } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/nats-core';
import type { Link } from '../link.ts';
import type { ObjectBucket, OpenedObject, StoredObject } from '../objects/buckets.ts';
import { chunksOf } from '../objects/chunks.ts';
import { untilStored } from './enqueue.ts';
import { messageOrNone, streamApi } from './jetstream-api.ts';
import { digestOf, type ObjectInfo, objectInfoSchema, paddedBase64url, readChunks } from './object-reader.ts';

/** Of the bytes of an object in one message. */
const chunkBytes = 64 * 1024;
const attemptMs = 2_000;
/** Where the chunks begin in the stream: without it the server would look for them from its start. */
const firstSeqKey = 'first-seq';

/**
 * A bucket of the Object Store of NATS (its ADR-20), which its other clients can read and write too. Reads without consumers and makes and deletes no
 * streams: what it needs is to publish below `$O.<bucket>`, and to look into and purge the one stream.
 */
export function openObjects(connection: NatsConnection, link: Link, bucket: string): ObjectBucket {
  const stream = `OBJ_${bucket}`;
  const api = streamApi(connection, link);
  const js = jetstream(connection, { timeout: attemptMs });
  const chunkSubject = (id: string) => `$O.${bucket}.C.${id}`;
  const metaSubject = (name: string) => `$O.${bucket}.M.${paddedBase64url(Buffer.from(name))}`;
  const doing = `write to ${bucket}`;

  async function readInfo(id: string): Promise<ObjectInfo | undefined> {
    const message = await api.repeat(`read ${bucket}`, async () =>
      messageOrNone((await api.manager()).streams.getMessage(stream, { last_by_subj: metaSubject(id) })),
    );
    const info = message && parse(objectInfoSchema, message.json(), `object ${id}`);
    return info?.deleted ? undefined : info;
  }

  async function purge(filter: string) {
    await api.repeat(`delete in ${bucket}`, async () =>
      (await api.manager()).streams.purge(stream, { filter }),
    );
  }

  async function remove(id: string) {
    const info = await readInfo(id);
    // The object first, so that nobody finds one without bytes; who comes again finds the chunks by its id.
    await purge(metaSubject(id));
    if (info && info.nuid !== id) await purge(chunkSubject(info.nuid));
    await purge(chunkSubject(id));
  }

  return {
    async put(bytes, metadata = {}) {
      const id = randomBytes(16).toString('hex');
      const hash = createHash('sha256');
      let size = 0;
      let chunks = 0;
      let firstSeq = 0;
      try {
        for await (const chunk of chunksOf(bytes, chunkBytes)) {
          // One after the other, under an id each: a lost acknowledgement makes neither a second chunk nor another order.
          const msgID = `${id}.${chunks}`;
          const ack = await untilStored(connection, link, doing, () =>
            js.publish(chunkSubject(id), chunk, { msgID }),
          );
          if (chunks === 0) firstSeq = ack.seq;
          hash.update(chunk);
          size += chunk.length;
          chunks += 1;
        }
        const info = {
          name: id,
          bucket,
          nuid: id,
          size,
          chunks,
          digest: digestOf(hash.digest()),
          mtime: new Date().toISOString(),
          options: { max_chunk_size: chunkBytes },
          metadata: { ...metadata, [firstSeqKey]: String(firstSeq) },
        };
        const options = { headers: headers(), msgID: `${id}.info` };
        options.headers.set('Nats-Rollup', 'sub');
        await untilStored(connection, link, doing, () =>
          js.publish(metaSubject(id), JSON.stringify(info), options),
        );
      } catch (error) {
        await purge(chunkSubject(id)).catch(() => {});
        throw error;
      }
      return { id, size };
    },

    async info(id) {
      const info = await readInfo(id);
      return info && storedOf(info);
    },

    async open(id): Promise<OpenedObject | undefined> {
      const info = await readInfo(id);
      if (!info) return undefined;
      const firstSeq = Number(info.metadata?.[firstSeqKey]) || 0;
      const source = { connection, api, stream, subject: chunkSubject(info.nuid), firstSeq };
      return { ...storedOf(info), bytes: readChunks(source, info) };
    },

    delete: remove,

    async ids() {
      const subjects = await subjectsIn(stream, `$O.${bucket}.>`);
      const found = subjects.map((subject) => idOf(bucket, subject));
      return [...new Set(found.filter((id) => id !== undefined))];
    },

    async lastWritten(id) {
      const message = await api.repeat(`read ${bucket}`, async () =>
        messageOrNone((await api.manager()).streams.getMessage(stream, { last_by_subj: chunkSubject(id) })),
      );
      if (message) return message.time.getTime();
      return (await readInfo(id).then((info) => info && storedOf(info)))?.createTime;
    },
  };

  async function subjectsIn(name: string, filter: string): Promise<string[]> {
    const info = await api.repeat(`list ${bucket}`, async () =>
      (await api.manager()).streams.info(name, { subjects_filter: filter }),
    );
    return Object.keys(info.state.subjects ?? {});
  }
}

function storedOf({ size, mtime, metadata }: ObjectInfo): StoredObject {
  const { [firstSeqKey]: _first, ...own } = metadata ?? {};
  return { size, createTime: mtime === undefined ? 0 : Date.parse(mtime), metadata: own };
}

function idOf(bucket: string, subject: string): string | undefined {
  const [kind, token, ...more] = subject.slice(`$O.${bucket}.`.length).split('.');
  if (token === undefined || more.length > 0) return undefined;
  return kind === 'C' ? token : Buffer.from(token, 'base64url').toString();
}

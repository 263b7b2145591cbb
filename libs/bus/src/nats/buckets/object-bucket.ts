import { parse } from '@agentmesh/protocol';
import { jetstream } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import type { BrokerLink } from '../../bus/broker-link.ts';
import type { ObjectBucket, OpenedObject, StoredObject } from '../../bus/buckets.ts';
import { messageFrom, messageOrNone, streamApi } from '../wire/jetstream-api.ts';
import { objectPieces } from './object-pieces.ts';
import {
  digestPrefix,
  firstSeqKey,
  type ObjectInfo,
  objectInfoSchema,
  objectSubjects,
  readChunks,
} from './object-reader.ts';
import { writeObject } from './object-writer.ts';

const attemptMs = 2_000;
const isToken = /^[\w-]+$/;

interface ObjectBucketOptions {
  connection: NatsConnection;
  link: BrokerLink;
  bucket: string;
  /**
   * True for a bucket in which the first record of an object counts: every service may write to it, and none can
   * replace the record of another one.
   */
  isWrittenOnce: boolean;
  /** Notes a subject whose refusal is not reported as a defect. */
  expectDenied(subject: string): void;
}

/**
 * Opens a bucket of the Object Store of NATS (its ADR-20), which other clients of the Object Store can read
 * and write too. Reads without consumers, and makes and deletes no streams. The bucket needs only the rights
 * to publish below `$O.<bucket>`, and to read and purge this one stream.
 */
export function openObjects({
  connection,
  link,
  bucket,
  isWrittenOnce,
  expectDenied,
}: ObjectBucketOptions): ObjectBucket {
  const stream = `OBJ_${bucket}`;
  // The caller gets the refusal as an error.
  expectDenied(`$JS.API.STREAM.PURGE.${stream}`);
  const api = streamApi(connection, link);
  const js = jetstream(connection, { timeout: attemptMs });
  const subjects = objectSubjects(bucket);
  const writer = { connection, link, js, bucket, subjects };

  async function readInfo(id: string): Promise<ObjectInfo | undefined> {
    const subject = subjects.info(id);
    const message = await api.repeat(`read ${bucket}`, async () =>
      isWrittenOnce
        ? messageFrom(await api.manager(), { stream, subject, from: 1 })
        : messageOrNone((await api.manager()).streams.getMessage(stream, { last_by_subj: subject })),
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
    // Removes the object first, so that nobody finds an object without bytes. A second deletion finds the
    // chunks by the id.
    await purge(subjects.info(id));
    if (info && info.nuid !== id) await purge(subjects.chunks(info.nuid));
    // A name that another client chose may not be a valid token of a chunk subject.
    if (isToken.test(id)) await purge(subjects.chunks(id));
  }

  return {
    async put(bytes, metadata = {}) {
      let newId: string | undefined;
      try {
        return await writeObject(writer, bytes, metadata, (id) => {
          newId = id;
        });
      } catch (error) {
        if (newId !== undefined) await purge(subjects.chunks(newId)).catch(() => {});
        throw error;
      }
    },

    ...objectPieces({
      ...{ writer, api, stream },
      async firstOf(id) {
        const info = await readInfo(id);
        return info && (Number(info.metadata?.[firstSeqKey]) || 0);
      },
    }),

    async info(id) {
      const info = await readInfo(id);
      return info && storedOf(info);
    },

    async open(id): Promise<OpenedObject | undefined> {
      const info = await readInfo(id);
      if (!info) return undefined;
      const firstSeq = Number(info.metadata?.[firstSeqKey]) || 0;
      const source = { connection, api, stream, subject: subjects.chunks(info.nuid), firstSeq };
      return { ...storedOf(info), bytes: readChunks(source, info) };
    },

    delete: remove,

    async ids() {
      const all = await subjectsIn(stream, `$O.${bucket}.>`);
      const ids = all.map((subject) => idOf(bucket, subject));
      return [...new Set(ids.filter((id) => id !== undefined))];
    },

    async lastWritten(id) {
      const message = await api.repeat(`read ${bucket}`, async () =>
        messageOrNone(
          (await api.manager()).streams.getMessage(stream, { last_by_subj: subjects.chunks(id) }),
        ),
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

function storedOf({ size, mtime, metadata, digest }: ObjectInfo): StoredObject {
  const { [firstSeqKey]: _first, ...userMetadata } = metadata ?? {};
  const isSha256 = digest.startsWith(digestPrefix);
  return {
    ...{ size, createTime: mtime === undefined ? 0 : Date.parse(mtime), metadata: userMetadata },
    digest: isSha256 ? digest.slice(digestPrefix.length).replace(/=+$/, '') : undefined,
  };
}

function idOf(bucket: string, subject: string): string | undefined {
  const [kind, token, ...more] = subject.slice(`$O.${bucket}.`.length).split('.');
  if (token === undefined || more.length > 0) return undefined;
  return kind === 'C' ? token : Buffer.from(token, 'base64url').toString();
}

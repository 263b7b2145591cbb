import { MeshError } from '@agentmesh/protocol';
import { jetstream } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/nats-core';
import type { BrokerLink } from '../../bus/broker-link.ts';
import type { RecordBucket } from '../../bus/buckets.ts';
import { untilStored } from '../wire/enqueue.ts';
import { messageOrNone, streamApi } from '../wire/jetstream-api.ts';
import { isWrongSequence } from '../wire/nats-errors.ts';
import { isRemoval, keyOf } from './card-bucket.ts';

const attemptMs = 2_000;

/**
 * Opens a key-value bucket of NATS as a {@link RecordBucket}. It needs no consumers, and a removed key leaves
 * nothing behind.
 */
export function openRecords(
  connection: NatsConnection,
  link: BrokerLink,
  bucket: string,
  expectDenied: (subject: string) => void,
): RecordBucket {
  const stream = `KV_${bucket}`;
  const api = streamApi(connection, link);
  const js = jetstream(connection, { timeout: attemptMs });
  const subjectOf = (key: string) => {
    const subject = `$KV.${bucket}.${key}`;
    if (keyOf(bucket, subject) === key) return subject;
    throw new MeshError('invalid_argument', `${JSON.stringify(key)} is not a valid key of a bucket`);
  };

  async function put(subject: string, value: Uint8Array, revision: number, removal: boolean) {
    const options = {
      headers: headers(),
      expect: { lastSubjectSequence: revision },
    };
    if (removal) options.headers.set('KV-Operation', 'DEL');
    try {
      const { seq } = await untilStored(connection, link, `write to ${bucket}`, () =>
        js.publish(subject, value, options),
      );
      return seq;
    } catch (thrown) {
      if (thrown instanceof MeshError && isWrongSequence(thrown.cause)) return undefined;
      throw thrown;
    }
  }

  return {
    async isReadable() {
      expectDenied(`$JS.API.STREAM.MSG.GET.${stream}`);
      const reading = async () =>
        messageOrNone((await api.manager()).streams.getMessage(stream, { last_by_subj: subjectOf('none') }));
      try {
        await api.repeat(`read ${bucket}`, reading);
        return true;
      } catch (thrown) {
        const { code } = MeshError.from(thrown);
        // Without the bucket, the first use of it says what to do.
        if (code === 'failed_precondition') return true;
        if (code === 'permission_denied') return false;
        throw thrown;
      }
    },

    async read(key) {
      const subject = subjectOf(key);
      const message = await api.repeat(`read ${bucket}`, async () =>
        messageOrNone((await api.manager()).streams.getMessage(stream, { last_by_subj: subject })),
      );
      if (!message) return { value: undefined, revision: 0 };
      return { value: isRemoval(message.header) ? undefined : message.data, revision: message.seq };
    },

    async write(key, value, revision) {
      return (await put(subjectOf(key), value, revision, false)) !== undefined;
    },

    async remove(key, revision) {
      const subject = subjectOf(key);
      const seq = await put(subject, new Uint8Array(), revision, true);
      if (seq === undefined) return false;
      // Removes the mark of the removal too, unless somebody wrote the key again meanwhile.
      await api.repeat(`delete in ${bucket}`, async () =>
        (await api.manager()).streams.purge(stream, { filter: subject, seq: seq + 1 }),
      );
      return true;
    },

    async keys(...tokens) {
      const filter = [`$KV.${bucket}`, ...tokens, '>'].join('.');
      const { state } = await api.repeat(`list ${bucket}`, async () =>
        (await api.manager()).streams.info(stream, { subjects_filter: filter }),
      );
      const keys = Object.keys(state.subjects ?? {}).map((subject) => keyOf(bucket, subject));
      return keys.filter((key) => key !== undefined);
    },
  };
}

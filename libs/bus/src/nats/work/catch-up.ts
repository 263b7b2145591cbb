import type { JetStreamManager } from '@nats-io/jetstream';
import { jetstream } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';

/** The number of messages that are published before the numbers are read again. */
const batchSize = 1_000;
/** The greatest lag that is made up, in messages: some minutes of work for the server. */
const mostMessages = 5_000_000;

/** A token that no service makes: names are encoded without `~`. */
const token = '~fill';

/** Tells whether messages of a subject are those of {@link catchUp}; one may be left after a crash. */
export const isFiller = (subject: string): boolean => subject.split('.').includes(token);

/** The consumer of a queue. */
interface QueuePlace {
  connection: NatsConnection;
  manager: JetStreamManager;
  stream: string;
  consumer: string;
}

/**
 * Lets the numbers of a stream catch up with a consumer that is ahead of them: the server takes all messages up to the
 * consumer's number for acknowledged ones. Publishes empty messages on a subject of the queue, which therefore nobody
 * gets, and removes them. Each of them names the number before it, so that no message of a service comes in between and
 * none too many is published. Returns the number of the messages.
 */
export async function catchUp({ connection, manager, stream, consumer }: QueuePlace): Promise<number> {
  const js = jetstream(connection);
  const { config, delivered } = await manager.consumers.info(stream, consumer);
  const subject = config.filter_subject?.replaceAll('*', token) ?? '';
  let published = 0;
  for (;;) {
    const { state } = await manager.streams.info(stream);
    const lag = delivered.stream_seq - state.last_seq;
    if (lag <= 0 || lag > mostMessages || !isFiller(subject)) return published;
    const tries = await Promise.allSettled(
      Array.from({ length: Math.min(lag, batchSize) }, (_, n) =>
        js.publish(subject, '', { expect: { lastSequence: state.last_seq + n } }),
      ),
    );
    const stored = tries.flatMap((each) => (each.status === 'fulfilled' ? [each.value.seq] : []));
    // `false`: the bytes need not be overwritten.
    await Promise.all(stored.map((seq) => manager.streams.deleteMessage(stream, seq, false)));
    published += stored.length;
  }
}

import type { MeshError, Subjects } from '@agentmesh/protocol';
import type { Msg, NatsConnection, Subscription } from '@nats-io/nats-core';
import type { BrokerLink, CardSink, OnError } from '../bus/broker-link.ts';
import { within } from '../bus/started.ts';
import { isRemoval, keyAfter, newsPrefixOf, readBucket } from './buckets/card-bucket.ts';
import { fromNats } from './wire/nats-errors.ts';

const retryMs = 2_000;
/** The longest time that connecting waits for the cards, in ms. */
const loadMs = 5_000;

export interface CardWatch {
  connection: NatsConnection;
  link: BrokerLink;
  subjects: Pick<Subjects, 'cardBucket' | 'allCardNews'>;
  sink: CardSink;
  onError: OnError;
}

/**
 * Keeps a sink current with the card bucket. Resolves when the sink holds all cards, or when the bucket
 * cannot be read now. Listens to changes, and reads the whole bucket at first and after each reconnect, since
 * changes may have been missed.
 */
export async function watchCards({ connection, link, subjects, sink, onError }: CardWatch): Promise<void> {
  /** The keys that changed since the connection is up. Their changes are newer than the values of a read. */
  const changedKeys = new Set<string>();
  const listen = createListener({ connection, link, subjects }, onChange, onFailure);
  let retry: NodeJS.Timeout | undefined;
  let round = 0;
  let reported = '';

  function onChange(key: string, { headers, data }: Msg) {
    changedKeys.add(key);
    if (isRemoval(headers)) sink.delete(key);
    else sink.set(key, data);
  }

  async function load(): Promise<void> {
    const ownRound = ++round;
    const isOver = () => ownRound !== round || link.closed.aborted;
    clearTimeout(retry);
    try {
      // Listens before it reads, so that no change is missed after the read.
      await listen();
      const cards = await readBucket(connection, subjects.cardBucket);
      if (isOver()) return;
      fill(sink, cards, changedKeys);
      sink.noteRead();
      reported = '';
    } catch (thrown) {
      if (!isOver()) onFailure(fromNats(thrown, 'read cards'));
    }
  }

  function onFailure(error: MeshError) {
    if (reported !== error.message) onError(error, 'directory');
    reported = error.message;
    if (!error.retryable) sink.noteRead();
    // A missing right will not appear later, but a missing bucket may still be provisioned.
    if (error.code === 'permission_denied') return;
    clearTimeout(retry);
    retry = setTimeout(() => void load(), retryMs);
    retry.unref();
  }

  link.onConnected(() => {
    changedKeys.clear();
    void load();
  });
  link.closed.addEventListener('abort', () => {
    clearTimeout(retry);
    sink.noteRead();
  });
  await within(loadMs, load());
}

/**
 * Passes on the cards of a read, except cards that changed since the read. Removes the cards that were
 * neither read nor changed.
 */
function fill(
  sink: CardSink,
  cards: ReadonlyMap<string, Uint8Array>,
  changedKeys: ReadonlySet<string>,
): void {
  for (const [key, bytes] of cards) {
    if (!changedKeys.has(key)) sink.set(key, bytes);
  }
  sink.retain(new Set([...cards.keys(), ...changedKeys]));
}

/**
 * Returns a function that subscribes to the changes, unless there is a subscription already. It resolves when
 * the server knows the subscription. The client subscribes again by itself after a reconnect.
 */
function createListener(
  { connection, link, subjects }: Pick<CardWatch, 'connection' | 'link' | 'subjects'>,
  onChange: (key: string, msg: Msg) => void,
  onRefused: (error: MeshError) => void,
): () => Promise<void> {
  let subscription: Subscription | undefined;
  let refused: MeshError | undefined;

  function callback(error: Error | null, msg: Msg) {
    if (error) {
      refused = fromNats(error, 'read cards');
      onRefused(refused);
      return;
    }
    const key = keyAfter(newsPrefixOf(subjects), msg.subject);
    if (key !== undefined) onChange(key, msg);
  }

  return async () => {
    // The client closes a subscription that the server refuses.
    if (!subscription || subscription.isClosed()) {
      refused = undefined;
      subscription = connection.subscribe(subjects.allCardNews, { callback });
    }
    await link.flush();
    if (refused) throw refused;
  };
}

import type { MeshError } from '@agentmesh/protocol';
import type { Msg, NatsConnection, Subscription } from '@nats-io/nats-core';
import type { BrokerLink, CardSink, OnError } from '../bus/broker-link.ts';
import { within } from '../bus/started.ts';
import { changesOf, isRemoval, keyOf, readBucket } from './buckets/card-bucket.ts';
import { fromNats } from './wire/nats-errors.ts';

const retryMs = 2_000;
/** How long connecting waits for the cards that are there, in ms. */
const loadMs = 5_000;

export interface CardWatch {
  connection: NatsConnection;
  link: BrokerLink;
  bucket: string;
  sink: CardSink;
  onError: OnError;
}

/**
 * Keeps a sink current with the card bucket; resolves when it holds what was there, or when the bucket cannot be read
 * now. It listens to what is written; it reads the whole at first, and after each reconnect, since it was deaf meanwhile.
 */
export async function watchCards({ connection, link, bucket, sink, onError }: CardWatch): Promise<void> {
  /** Keys that were written since the connection is up: what was heard of them is newer than what is read. */
  const heard = new Set<string>();
  const listen = createListener({ connection, link, bucket }, onChange, onFailure);
  let retry: NodeJS.Timeout | undefined;
  let round = 0;
  let reported = '';

  function onChange(key: string, { headers, data }: Msg) {
    heard.add(key);
    if (isRemoval(headers)) sink.delete(key);
    else sink.set(key, data);
  }

  async function load(): Promise<void> {
    const mine = ++round;
    const isOver = () => mine !== round || link.closed.aborted;
    clearTimeout(retry);
    try {
      // First, so that nothing is written unheard after it was read.
      await listen();
      const cards = await readBucket(connection, bucket);
      if (isOver()) return;
      fill(sink, cards, heard);
      reported = '';
    } catch (thrown) {
      if (!isOver()) onFailure(fromNats(thrown, 'read cards'));
    }
  }

  function onFailure(error: MeshError) {
    if (reported !== error.message) onError(error, 'directory');
    reported = error.message;
    // Who may not read cards, may not later either; a bucket that is missing may be provisioned yet.
    if (error.code === 'permission_denied') return;
    clearTimeout(retry);
    retry = setTimeout(() => void load(), retryMs);
    retry.unref();
  }

  link.onConnected(() => {
    heard.clear();
    void load();
  });
  link.closed.addEventListener('abort', () => clearTimeout(retry));
  await within(loadMs, load());
}

/** Passes on what was read, but for what was heard since; forgets what is neither there nor heard of. */
function fill(sink: CardSink, cards: ReadonlyMap<string, Uint8Array>, heard: ReadonlySet<string>): void {
  for (const [key, bytes] of cards) {
    if (!heard.has(key)) sink.set(key, bytes);
  }
  sink.retain(new Set([...cards.keys(), ...heard]));
}

/**
 * Returns how to listen to what is written. That resolves when the server knows of it, and changes nothing when it does
 * already; the client subscribes again by itself after a reconnect.
 */
function createListener(
  { connection, link, bucket }: Pick<CardWatch, 'connection' | 'link' | 'bucket'>,
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
    const key = keyOf(bucket, msg.subject);
    if (key !== undefined) onChange(key, msg);
  }

  return async () => {
    // The client closes one that the server refuses.
    if (!subscription || subscription.isClosed()) {
      refused = undefined;
      subscription = connection.subscribe(changesOf(bucket), { callback });
    }
    await link.flush();
    if (refused) throw refused;
  };
}

import { jetstream } from '@nats-io/jetstream';
import { Kvm, type KvWatchEntry } from '@nats-io/kv';
import type { NatsConnection, QueuedIterator } from '@nats-io/nats-core';
import type { CardSink, Link, OnError } from '../link.ts';
import { within } from '../started.ts';
import { fromNats } from './errors.ts';

const requestMs = 2_000;
const retryMs = 1_000;
/** How long connecting waits for the cards that are there, in ms. */
const loadMs = 5_000;

export interface CardWatch {
  connection: NatsConnection;
  link: Link;
  bucket: string;
  sink: CardSink;
  onError: OnError;
}

/**
 * Keeps a sink current with the card bucket; resolves when it holds what was there, or when the bucket cannot be read
 * now. After each reconnect the watch starts anew: the server may have lost it, and what it would say is the same.
 */
export async function watchCards(watch: CardWatch): Promise<void> {
  const { link, onError } = watch;
  let current: QueuedIterator<KvWatchEntry> | undefined;
  let retry: NodeJS.Timeout | undefined;
  let round = 0;
  let reported = '';

  async function restart(): Promise<void> {
    const mine = ++round;
    const isOver = () => mine !== round || link.closed.aborted;
    clearTimeout(retry);
    current?.stop();
    current = undefined;
    try {
      const { count, entries } = await openEntries(watch);
      if (isOver()) {
        entries.stop();
        return;
      }
      current = entries;
      reported = '';
      const loaded = Promise.withResolvers<void>();
      void follow(watch.sink, count, entries, loaded.resolve).finally(() => {
        loaded.resolve();
        if (!isOver()) tryLater();
      });
      await loaded.promise;
    } catch (thrown) {
      if (isOver()) return;
      const error = fromNats(thrown, 'read cards');
      if (reported !== error.message) onError(error, 'directory');
      reported = error.message;
      // Who may not read cards, may not later either; a bucket that is missing may be provisioned yet.
      if (error.code !== 'permission_denied') tryLater();
    }
  }

  function tryLater() {
    retry = setTimeout(() => void restart(), retryMs);
    retry.unref();
  }

  link.onConnected(() => void restart());
  link.closed.addEventListener('abort', () => {
    clearTimeout(retry);
    current?.stop();
  });
  await within(loadMs, restart());
}

async function openEntries({ connection, bucket }: CardWatch) {
  const kv = await new Kvm(jetstream(connection, { timeout: requestMs })).open(bucket);
  // A watch says nothing of an empty bucket, so that one could not tell it from one that is still loading.
  const { values: count } = await kv.status();
  return { count, entries: await kv.watch() };
}

/** Passes on what was there and what changes; forgets then what is gone. Ends with the watch. */
async function follow(
  sink: CardSink,
  count: number,
  entries: QueuedIterator<KvWatchEntry>,
  onLoaded: () => void,
): Promise<void> {
  const present = new Set<string>();
  let loaded = false;

  function load() {
    loaded = true;
    sink.retain(present);
    onLoaded();
  }

  if (count === 0) load();
  for await (const { key, value, operation, isUpdate, delta } of entries) {
    if (operation === 'PUT') {
      present.add(key);
      sink.set(key, value);
    } else {
      present.delete(key);
      sink.delete(key);
    }
    // The last of those that were there. `delta` alone does not tell: a server 2.9 counts one too many for ever when a card
    // is replaced while the watch begins.
    if (!loaded && (isUpdate || delta === 0)) load();
  }
}

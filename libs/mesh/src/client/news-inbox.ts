import type { Message } from '@agentmesh/bus';
import type { SharedLimit } from '../mesh/reader-limits.ts';

/** Limit of the memory for news that wait for a slow reader, in bytes. */
export const maxWaitingBytes = 4 * 1024 * 1024;
/** Memory of a message beside its payload, roughly, in bytes. */
const messageBytes = 1_024;

/** A message, or `look`: the reader must read the log, because messages may have been missed. */
export type News = Message | 'look';

export interface NewsInbox {
  put(news: News): void;
  /** Waits for the next news, `ms` at most. */
  take(ms: number): Promise<News | 'silence' | 'closed'>;
  /** Ends the waiting; after this call `take` returns no news. */
  close(): void;
}

/**
 * Makes a queue with one reader and a limit of memory, beside the limit that it shares with others. Beyond a limit
 * all waiting messages are dropped, except the messages that `isKept` names, and the reader gets `look`: the log has
 * the committed events. Pieces of events are lost then.
 */
export function newsInbox(
  isKept: (message: Message) => boolean,
  shared: SharedLimit,
  maxBytes = maxWaitingBytes,
): NewsInbox {
  let items: News[] = [];
  let bytes = 0;
  let closed = false;
  let wake = () => {};
  const sizeOf = (news: News) => (news === 'look' ? 0 : news.bytes.byteLength + messageBytes);
  const count = (more: number) => {
    bytes += more;
    shared.waiting += more;
  };
  return {
    put(news) {
      if (closed) return;
      items.push(news);
      count(sizeOf(news));
      if (bytes > maxBytes || shared.waiting > shared.most) {
        items = ['look', ...items.filter((each) => each !== 'look' && isKept(each))];
        count(items.reduce((sum, each) => sum + sizeOf(each), 0) - bytes);
      }
      wake();
    },
    async take(ms) {
      if (items.length === 0 && !closed) {
        const { promise, resolve } = Promise.withResolvers<void>();
        const timer = setTimeout(resolve, ms);
        wake = resolve;
        await promise;
        clearTimeout(timer);
      }
      if (closed) return 'closed';
      const news = items.shift();
      if (news === undefined) return 'silence';
      count(-sizeOf(news));
      return news;
    },
    close() {
      closed = true;
      items = [];
      count(-bytes);
      wake();
    },
  };
}

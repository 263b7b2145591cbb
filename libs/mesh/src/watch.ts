import type { InvocationRef } from '@agentmesh/agent';
import type { Message } from '@agentmesh/bus';
import {
  type Event,
  eventSchema,
  header,
  type InvocationEnd,
  invocationEndSchema,
} from '@agentmesh/protocol';
import type { Mesh } from './mesh.ts';

/** After this long without news the log is asked, in ms: a message may have been lost with a connection. */
const silenceMs = 5_000;
/** Committed events read from the log at a time. */
const pageSize = 200;

export interface Watch {
  events: AsyncIterable<Event>;
  end: Promise<InvocationEnd>;
  stop(): Promise<void>;
}

/**
 * Watches an invocation from `afterSeq` on. News come as messages; the log has the last word: what a lost message would have told is read
 * there, so that every committed event comes once and in order.
 */
export async function watchInvocation(
  mesh: Mesh,
  ref: InvocationRef,
  afterSeq: number,
  signal?: AbortSignal,
): Promise<Watch> {
  const inbox = makeInbox<Message | 'look'>();
  const subscription = await mesh.bus.subscribe(
    mesh.subjects.invocationEvent(ref.invocationId),
    (message) => inbox.put(message),
    () => inbox.put('look'),
  );
  const onAbort = () => inbox.close();
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted) onAbort();
  const end = Promise.withResolvers<InvocationEnd>();
  // Whoever only reads the events need not look at the end too.
  end.promise.catch(() => {});
  const stop = async () => {
    signal?.removeEventListener('abort', onAbort);
    inbox.close();
    await subscription.stop();
  };

  async function* follow(): AsyncGenerator<Event, void, void> {
    let seen = afterSeq;
    async function* readLog(): AsyncGenerator<Event, void, void> {
      for (;;) {
        const page = await mesh.sessions.readEvents({ ...ref, afterSeq: seen, limit: pageSize });
        for (const { seq, event } of page) {
          seen = seq;
          if (event.invocationId === ref.invocationId && event.author !== 'user') yield event;
        }
        if (page.length < pageSize) return;
      }
    }
    try {
      for (;;) {
        const message = await inbox.take(silenceMs);
        if (message === 'closed') {
          signal?.throwIfAborted();
          return;
        }
        if (message === 'look' || message === 'silence') {
          yield* readLog();
          const { status, error } = await mesh.sessions.getInvocation(ref);
          if (status === 'running') continue;
          yield* readLog();
          end.resolve({ status, lastSeq: seen, ...(error && { error }) });
          return;
        }
        const news = readNews(message);
        if (news?.end) {
          if (seen < news.end.lastSeq) yield* readLog();
          end.resolve(news.end);
          return;
        }
        if (!news) continue;
        const { event, seq } = news;
        if (seq === undefined) yield event;
        else if (seq === seen + 1) {
          seen = seq;
          if (event.author !== 'user') yield event;
        } else if (seq > seen) yield* readLog();
      }
    } catch (error) {
      end.reject(error);
      throw error;
    } finally {
      await stop();
    }
  }
  return { events: follow(), end: end.promise, stop };
}

/** A queue with one reader. */
function makeInbox<T>() {
  const items: T[] = [];
  let closed = false;
  let wake = () => {};
  return {
    put(item: T) {
      items.push(item);
      wake();
    },
    close() {
      closed = true;
      wake();
    },
    async take(ms: number): Promise<T | 'silence' | 'closed'> {
      if (items.length === 0 && !closed) {
        const { promise, resolve } = Promise.withResolvers<void>();
        const timer = setTimeout(resolve, ms);
        wake = resolve;
        await promise;
        clearTimeout(timer);
      }
      if (closed) return 'closed';
      return items.shift() ?? 'silence';
    },
  };
}

type News = { end: InvocationEnd } | { end?: undefined; event: Event; seq: number | undefined };

/** Anything else on the subject is not from an agent; the log will tell whether something was missed. */
function readNews(message: Message): News | undefined {
  try {
    if (message.headers[header.frame] === 'result') return { end: invocationEndSchema.parse(message.json()) };
    const seq = message.headers[header.seq];
    return { event: eventSchema.parse(message.json()), seq: seq === undefined ? undefined : Number(seq) };
  } catch {
    return undefined;
  }
}

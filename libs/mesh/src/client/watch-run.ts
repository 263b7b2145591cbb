import { endOfRun, type InvocationRef } from '@agentmesh/agent/internal';
import type { Message } from '@agentmesh/bus';
import { eventSchema, header, type InvocationEnd, invocationEndSchema } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { LogReader, type NumberedEvent, orAbort } from './log-reader.ts';
import { type NewsInbox, newsInbox } from './news-inbox.ts';

/** After this long without news the log is asked, in ms: a message may have been lost with a connection. */
const silenceMs = 5_000;

export interface WatchOptions {
  /** Events up to this number of the session are known. */
  afterSeq: number;
  /** The invocation may have begun: what the log holds of it comes first. */
  catchUp?: boolean;
  /** Id of the event behind which those that are wanted begin; default all are. */
  from?: string | undefined;
  /** Ends the watching at once. */
  signal?: AbortSignal | undefined;
}

export interface Watch {
  events: AsyncIterable<NumberedEvent>;
  end: Promise<InvocationEnd>;
  stop(): Promise<void>;
}

/**
 * Watches a run of an invocation from `afterSeq` on. News come as messages; the log has the last word: what a lost message would have told is read
 * there, so that every committed event comes once and in order, however slow the reader is. Pieces of events pass as they come.
 */
export async function watchInvocation(
  mesh: Mesh,
  ref: InvocationRef,
  { afterSeq, catchUp = false, from, signal }: WatchOptions,
): Promise<Watch> {
  const inbox = newsInbox(isEnd);
  const subscription = await mesh.bus.subscribe(
    mesh.subjects.invocationEvent(ref.invocationId),
    (message) => inbox.put(message),
    () => inbox.put('look'),
  );
  if (catchUp) inbox.put('look');
  const end = Promise.withResolvers<InvocationEnd>();
  // Whoever only reads the events need not look at the end too.
  end.promise.catch(() => {});
  const stop = async () => {
    signal?.removeEventListener('abort', onAbort);
    inbox.close();
    await subscription.stop();
  };
  // Not left to the reader, who may be waiting for something else.
  const onAbort = () => {
    end.reject(signal?.reason);
    void stop();
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted) onAbort();

  async function* events(): AsyncGenerator<NumberedEvent, void, void> {
    const log = new LogReader(mesh, ref, afterSeq, signal, from);
    try {
      const over = yield* follow(mesh, ref, log, inbox, signal);
      if (over) end.resolve(over);
    } catch (error) {
      end.reject(error);
      throw error;
    } finally {
      void stop();
    }
  }
  return { events: events(), end: end.promise, stop };
}

/** Gives out events until the end, and returns it; nothing when the watching was stopped. */
async function* follow(
  { sessions }: Mesh,
  ref: InvocationRef,
  log: LogReader,
  inbox: NewsInbox,
  signal: AbortSignal | undefined,
): AsyncGenerator<NumberedEvent, InvocationEnd | undefined, void> {
  for (;;) {
    const message = await inbox.take(silenceMs);
    signal?.throwIfAborted();
    if (message === 'closed') return undefined;
    if (message === 'look' || message === 'silence') {
      yield* log.read();
      const ended = endOfRun(await orAbort(sessions.invocations.get(ref), signal), ref.resume);
      if (!ended) continue;
      // What was committed between the two.
      yield* log.read();
      return { ...ended, lastSeq: log.seen };
    }
    const news = readNews(message);
    if (news?.event) yield* passOn(news, log);
    // The end of a run before this one may come again.
    if (!news?.end || news.end.resume !== ref.resume) continue;
    // Who tells the end may know less than the log.
    yield* log.read();
    return news.end;
  }
}

/** Passes on an event that came as a message, and reads the log where events before it are missing. */
async function* passOn(
  { event, seq }: NumberedEvent,
  log: LogReader,
): AsyncGenerator<NumberedEvent, void, void> {
  if (seq === undefined) {
    if (log.hasBegun) yield { event };
  } else if (seq === log.seen + 1) {
    log.seen = seq;
    if (log.wants(event)) yield { event, seq };
  } else if (seq > log.seen) yield* log.read();
}

function isEnd({ headers }: Message): boolean {
  return headers[header.frame] === 'result';
}

type News = { end: InvocationEnd; event?: undefined } | (NumberedEvent & { end?: undefined });

/** Reads a message. Undefined for what is not from an agent; the log will tell whether an event was missed. */
function readNews(message: Message): News | undefined {
  try {
    if (isEnd(message)) return { end: invocationEndSchema.parse(message.json()) };
    const seq = message.headers[header.seq];
    const event = eventSchema.parse(message.json());
    return { event, ...(seq !== undefined && { seq: Number(seq) }) };
  } catch {
    return undefined;
  }
}

import { endOfRun, type InvocationRef } from '@agentmesh/agent/internal';
import { type InvocationEnd, unlessAborted } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { assertThere, isBlank } from '../messages/assert-there.ts';
import { outlastOutage } from '../messages/outlast-outage.ts';
import { logged, type OutlineOptions } from '../messages/read-log.ts';
import { askSilentHolder, startNext } from '../runs/run-queue.ts';
import { LogReader, type LogReaderOptions, type NumberedEvent } from './log-reader.ts';
import { type NewsInbox, newsInbox } from './news-inbox.ts';
import { publisherCheck } from './news-publisher.ts';
import { isEnd, readNews } from './read-news.ts';
import { listenToRun } from './run-news.ts';

/** Time without news after which the log is read, in ms: a message may have been lost with a connection. */
const silenceMs = 5_000;

export interface WatchOptions extends LogReaderOptions {
  /** True if the invocation may have begun: its events in the log come first. */
  catchUp?: boolean;
}

export interface Watch {
  events: AsyncIterable<NumberedEvent>;
  end: Promise<InvocationEnd>;
  stop(): void;
}

/**
 * Watches a run of an invocation from `afterSeq` on. News come as messages. When a message is missing, the
 * events are read from the log, so every committed event comes once and in order, also for a slow reader.
 * Pieces of events pass as they come, unless a piece is too large for a message of the broker. `signal` stops the
 * watching at once.
 */
export async function watchInvocation(
  mesh: Mesh,
  ref: InvocationRef,
  { catchUp = false, ...options }: WatchOptions,
): Promise<Watch> {
  const { signal } = options;
  const inbox = newsInbox(isEnd, mesh.readerLimits.news);
  const fateOf = publisherCheck(mesh, ref.appName);
  const stopListening = await listenToRun(mesh, ref, {
    onMessage(message) {
      const fate = fateOf(message.subject);
      if (fate !== 'ignore') inbox.put(fate === 'look' ? 'look' : message);
    },
    onGap: () => inbox.put('look'),
  });
  if (catchUp) inbox.put('look');
  const end = Promise.withResolvers<InvocationEnd>();
  // A caller that only reads the events may ignore the end.
  end.promise.catch(() => {});
  const stop = () => {
    signal?.removeEventListener('abort', onAbort);
    inbox.close();
    stopListening();
  };
  // An abort must take effect at once: the reader may be waiting for something else.
  const onAbort = () => {
    end.reject(signal?.reason);
    stop();
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted) onAbort();

  async function* events(): AsyncGenerator<NumberedEvent, void, void> {
    const log = new LogReader(mesh, ref, options);
    try {
      const invocationEnd = yield* follow(mesh, ref, log, inbox, { ...options, catchUp });
      if (invocationEnd) end.resolve(invocationEnd);
    } catch (error) {
      end.reject(error);
      throw error;
    } finally {
      stop();
    }
  }
  return { events: events(), end: end.promise, stop };
}

/**
 * Yields events until the end of the run, and returns that end; returns undefined when the watching was
 * stopped.
 */
async function* follow(
  mesh: Mesh,
  ref: InvocationRef,
  log: LogReader,
  inbox: NewsInbox,
  { signal, outlineAbove, catchUp = false }: WatchOptions,
): AsyncGenerator<NumberedEvent, InvocationEnd | undefined, void> {
  const run = { isKnown: catchUp };
  for (;;) {
    const message = await inbox.take(silenceMs);
    signal?.throwIfAborted();
    if (message === 'closed') return undefined;
    if (message === 'look' || message === 'silence') {
      const ended = yield* look(mesh, ref, log, run, { isSilent: message === 'silence', signal });
      if (ended) return ended;
      continue;
    }
    const news = readNews(message);
    if (news?.event) {
      run.isKnown = true;
      yield* passOn(news.event, log, { chars: message.bytes.length, outlineAbove });
    }
    // The end of an earlier run may be delivered again.
    if (!news?.end || news.end.resume !== ref.resume) continue;
    // Some publishers of an end do not know the last event: they give 0.
    yield* log.read(news.end.lastSeq || undefined);
    return news.end;
  }
}

/**
 * Yields the events that the store has, and returns the end of the run, if it has ended. After a silence it asks for
 * the run's work.
 *
 * @param run noted as known once it has a record or events
 * @throws MeshError `not_found` after a silence, as {@link assertThere}
 */
async function* look(
  mesh: Mesh,
  ref: InvocationRef,
  log: LogReader,
  run: { isKnown: boolean },
  { isSilent, signal }: { isSilent: boolean; signal: AbortSignal | undefined },
): AsyncGenerator<NumberedEvent, InvocationEnd | undefined, void> {
  const read = <T>(reading: () => Promise<T>) =>
    outlastOutage(() => unlessAborted(reading(), signal), signal);
  yield* log.read();
  const record = await read(() => mesh.sessions.invocations.get(ref));
  const ended = endOfRun(record, ref.resume);
  if (ended) {
    // Events that were committed between the two reads.
    yield* log.read();
    return { ...ended, ...(ref.resume !== undefined && { resume: ref.resume }), lastSeq: log.seen };
  }
  run.isKnown ||= !isBlank(record);
  if (!isSilent) return undefined;
  await read(() => assertThere(mesh, ref, log.seen, run.isKnown && isBlank(record)));
  await askForSilentWork(mesh, ref);
  return undefined;
}

/**
 * Asks for the work of a run that gives no sign of life: its command may be lost, and without a further run in
 * the session nobody else asks for it. Or the run waits in a session that no run has, and whoever should have
 * started it is gone.
 */
async function askForSilentWork(mesh: Mesh, ref: InvocationRef): Promise<void> {
  try {
    await startNext(mesh, ref);
    await askSilentHolder(mesh, ref);
  } catch (error) {
    mesh.log.debug({ err: error, invocationId: ref.invocationId }, 'could not ask for a silent run');
  }
}

/** Passes on an event that came as a message, and reads the log when events before it are missing. */
async function* passOn(
  { event, seq }: NumberedEvent,
  log: LogReader,
  { chars, outlineAbove }: { chars: number } & OutlineOptions,
): AsyncGenerator<NumberedEvent, void, void> {
  if (seq === undefined) {
    if (log.hasBegun) yield { event };
  } else if (seq === log.seen + 1) {
    log.seen = seq;
    if (log.wants(event)) yield { ...logged({ event, seq, chars }, outlineAbove), isLive: true };
  } else if (seq > log.seen) yield* log.read();
}

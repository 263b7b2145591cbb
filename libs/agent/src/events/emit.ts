/** Hands a value over to its reader. Settles when the reader wants the next value: an event is committed by then. */
export type Emit<T> = (value: T) => Promise<void>;

/**
 * Thrown by an {@link Emit} whose reader has stopped, or has failed with the error that is the cause. Nothing of the
 * work may go on then: whoever catches it throws it again.
 */
export class ReaderGone extends Error {
  constructor(cause?: unknown) {
    super('the reader of the events has stopped', { cause });
  }
}

/** Reads a generator to its end, and emits what it yields. */
export async function drain<T>(source: AsyncGenerator<T, void, void>, emit: Emit<T>): Promise<void> {
  for await (const value of source) await emit(value);
}

interface Offer<T> {
  value: T;
  take(): void;
  refuse(reason: unknown): void;
}

/**
 * Turns work that emits values into a generator that yields them. The work begins with the first step of the reader,
 * and is told when the reader stops.
 */
export async function* asGenerator<T, R>(work: (emit: Emit<T>) => Promise<R>): AsyncGenerator<T, R, void> {
  const offers: Offer<T>[] = [];
  let wake = () => {};
  let isOver = false;
  let isLeft = false;
  const running = work((value) => {
    if (isLeft) return Promise.reject(new ReaderGone());
    return new Promise<void>((take, refuse) => {
      offers.push({ value, take, refuse });
      wake();
    });
  }).finally(() => {
    isOver = true;
    wake();
  });
  running.catch(() => {});
  try {
    for (;;) {
      const [offer] = offers;
      if (offer) {
        yield offer.value;
        offers.shift();
        offer.take();
      } else if (isOver) break;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    isLeft = true;
    for (const { refuse } of offers) refuse(new ReaderGone());
    await running.catch((thrown) => {
      if (!(thrown instanceof ReaderGone)) throw thrown;
    });
  }
  return await running;
}

/** Lets values go out one at a time, in the order in which they come. */
export function inTurn<T>(emit: Emit<T>): Emit<T> {
  let last = Promise.resolve();
  return (value) => {
    const turn = last.then(() => emit(value));
    last = turn.catch(() => {});
    return turn;
  };
}

/**
 * Does several pieces of work at the same time, and returns their results in the order of the pieces. When one of
 * them fails, or the reader stops, the signal stops the others, and this function waits for their end.
 */
export async function atOnce<T, R>(
  emit: Emit<T>,
  start: (emit: Emit<T>, signal: AbortSignal) => readonly Promise<R>[],
): Promise<R[]> {
  const stop = new AbortController();
  let first: { thrown: unknown } | undefined;
  const fail = (thrown: unknown): never => {
    first ??= { thrown };
    stop.abort(
      new DOMException('another piece of the work has failed, or its reader has stopped', 'AbortError'),
    );
    throw thrown;
  };
  const sent = inTurn<T>((value) => (first ? Promise.reject(new ReaderGone()) : emit(value)).catch(fail));
  const ends = await Promise.allSettled(start(sent, stop.signal).map((work) => work.catch(fail)));
  if (first) throw (first as { thrown: unknown }).thrown;
  return ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
}

/**
 * Runs generators at the same time and yields their values as they arrive. A generator continues only after
 * the consumer has taken its value: an agent continues after its event is committed. Returns the return
 * values of the generators, in the order of the generators.
 *
 * When a generator throws, or the consumer stops, the signal stops the other generators, and this function
 * waits for their end.
 */
export async function* interleave<T, R>(
  start: (signal: AbortSignal) => readonly AsyncGenerator<T, R, void>[],
): AsyncGenerator<T, R[], void> {
  const stop = new AbortController();
  const sources = start(stop.signal);
  const results: R[] = [];
  const pending = new Map<number, Promise<{ at: number; result: IteratorResult<T, R> }>>();
  const advance = (at: number, source: AsyncGenerator<T, R, void>) =>
    pending.set(
      at,
      source.next().then((result) => ({ at, result })),
    );
  for (const [at, source] of sources.entries()) advance(at, source);
  let over = false;
  try {
    while (pending.size > 0) {
      const { at, result } = await Promise.race(pending.values());
      // A taken source goes to the end of the map, so a busy source does not delay the other sources.
      pending.delete(at);
      if (result.done) results[at] = result.value;
      else {
        yield result.value;
        const source = sources[at];
        if (source) advance(at, source);
      }
    }
    over = true;
    return results;
  } finally {
    if (!over) {
      stop.abort(
        new DOMException(
          'another of the concurrent generators has failed, or the consumer has stopped',
          'AbortError',
        ),
      );
      await Promise.allSettled([
        ...pending.values(),
        ...sources.map((source) => source.return(undefined as R)),
      ]);
    }
  }
}

/**
 * Runs a generator and yields its values, and between them the values that it passes to `emit`, as they
 * arrive.
 */
export async function* withEmitted<T, R>(
  start: (emit: (value: T) => void) => AsyncGenerator<T, R, void>,
): AsyncGenerator<T, R, void> {
  const emitted: T[] = [];
  let wake = () => {};
  const source = start((value) => {
    emitted.push(value);
    wake();
  });
  try {
    for (let next = source.next(); ; ) {
      const { promise: news, resolve } = Promise.withResolvers<undefined>();
      wake = () => resolve(undefined);
      if (emitted.length > 0) wake();
      const result = await Promise.race([next, news]);
      yield* emitted.splice(0);
      if (result?.done) return result.value;
      if (result) {
        yield result.value;
        next = source.next();
      }
    }
  } finally {
    await source.return(undefined as R);
  }
}

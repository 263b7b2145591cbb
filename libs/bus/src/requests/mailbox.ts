/**
 * A queue between callbacks and an async iteration. After a failure, `take` still returns the items that came
 * before it.
 */
export interface Mailbox<T> {
  put(item: T): void;
  fail(error: Error): void;
  take(): Promise<T>;
}

/** Makes a mailbox for one taker at a time. */
export function createMailbox<T>(): Mailbox<T> {
  let items: T[] = [];
  let at = 0;
  let failure: Error | undefined;
  let waiting: PromiseWithResolvers<T> | undefined;

  return {
    put(item) {
      if (failure) return;
      if (!waiting) {
        items.push(item);
        return;
      }
      waiting.resolve(item);
      waiting = undefined;
    },
    fail(error) {
      failure ??= error;
      waiting?.reject(failure);
      waiting = undefined;
    },
    take() {
      if (at < items.length) {
        const item = items[at++] as T;
        // Not `shift()`, which moves all following items each time.
        if (at === items.length) {
          items = [];
          at = 0;
        }
        return Promise.resolve(item);
      }
      if (failure) return Promise.reject(failure);
      waiting = Promise.withResolvers<T>();
      return waiting.promise;
    },
  };
}

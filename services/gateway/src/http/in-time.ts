/** The longest time for which a look at the metrics waits for figures of the servers, in ms. */
const longestMs = 2_000;

/** @throws Error when the promise does not settle in time */
export async function inTime<T>(promise: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`no figures within ${longestMs} ms`)), longestMs);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

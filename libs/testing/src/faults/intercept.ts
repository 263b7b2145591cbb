type Method = (...args: never[]) => unknown;

/** The names of an object's methods. */
export type MethodName<T> = { [K in keyof T]: T[K] extends Method ? K : never }[keyof T];

type Call<T, K extends keyof T> = T[K] extends (...args: infer A) => infer R ? (...args: A) => R : never;

/**
 * Puts a function of ours around one method of this one object, which stays the object it was: with its identity, its private fields and all
 * its other methods, also those that we know nothing of.
 *
 * @param around gets the method as it was and returns what is called in its place
 * @returns takes the function away again
 */
export function intercept<T extends object, K extends MethodName<T>>(
  target: T,
  method: K,
  around: (call: Call<T, K>) => Call<T, K>,
): () => void {
  const own = Object.getOwnPropertyDescriptor(target, method);
  const before = target[method] as unknown as (...args: unknown[]) => unknown;
  const call = ((...args: unknown[]) => before.apply(target, args)) as unknown as Call<T, K>;
  Object.defineProperty(target, method, { value: around(call), configurable: true, writable: true });
  return () => {
    if (own) Object.defineProperty(target, method, own);
    else Reflect.deleteProperty(target, method);
  };
}

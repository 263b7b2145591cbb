type Method = (...args: never[]) => unknown;

/** The names of an object's methods. */
export type MethodName<T> = { [K in keyof T]: T[K] extends Method ? K : never }[keyof T];

type Call<T, K extends keyof T> = T[K] extends (...args: infer A) => infer R ? (...args: A) => R : never;

/**
 * Wraps a method of an object. The object keeps its identity, its private fields and all its other methods.
 *
 * @param around gets the original method and returns its replacement
 * @returns a function that restores the method
 */
export function intercept<T extends object, K extends MethodName<T>>(
  target: T,
  method: K,
  around: (call: Call<T, K>) => Call<T, K>,
): () => void {
  const ownProperty = Object.getOwnPropertyDescriptor(target, method);
  const original = target[method] as unknown as (...args: unknown[]) => unknown;
  const call = ((...args: unknown[]) => original.apply(target, args)) as unknown as Call<T, K>;
  Object.defineProperty(target, method, { value: around(call), configurable: true, writable: true });
  return () => {
    if (ownProperty) Object.defineProperty(target, method, ownProperty);
    else Reflect.deleteProperty(target, method);
  };
}

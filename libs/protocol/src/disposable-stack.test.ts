import { describe, expect, it } from 'vitest';
import { isSuppressedError, OwnDisposableStack } from './disposable-stack.ts';

/** The stack of the language, which Node 24 has, and ours do the same. */
const stacks = { 'the language': globalThis.AsyncDisposableStack, 'Node 22': OwnDisposableStack };

describe.each(Object.entries(stacks))('the stack of %s', (_, Stack) => {
  it('releases in reverse order, and once', async () => {
    const released: string[] = [];
    const owners = new Stack();
    const owner = { [Symbol.asyncDispose]: async () => void released.push('owner') };
    expect(owners.use(owner)).toBe(owner);
    expect(owners.use(undefined)).toBeUndefined();
    owners.use({ [Symbol.dispose]: () => void released.push('synchronous') });
    owners.defer(async () => void released.push('deferred'));
    await owners.disposeAsync();
    await owners.disposeAsync();
    expect(released).toEqual(['deferred', 'synchronous', 'owner']);
    expect(() => owners.defer(() => {})).toThrow(ReferenceError);
  });

  it('hands over what it holds', async () => {
    let released = 0;
    const owners = new Stack();
    owners.defer(() => void released++);
    const moved = owners.move();
    await owners.disposeAsync();
    expect(released).toBe(0);
    expect(() => owners.use(moved)).toThrow(ReferenceError);
    await moved[Symbol.asyncDispose]();
    expect(released).toBe(1);
  });

  it('releases all, and throws all errors', async () => {
    const owners = new Stack();
    for (const name of ['first', 'second', 'third']) {
      owners.defer(() => {
        throw new Error(name);
      });
    }
    const error = await owners.disposeAsync().then(
      () => undefined,
      (thrown: Error) => thrown,
    );
    if (!error || !isSuppressedError(error))
      throw new Error(`expected an error that holds all, not ${error}`);
    expect(error.error).toMatchObject({ message: 'first' });
    expect(error.suppressed).toMatchObject({
      error: { message: 'second' },
      suppressed: { message: 'third' },
    });
  });

  it('throws a single error as it is', async () => {
    const owners = new Stack();
    const failure = new Error('only');
    owners.defer(() => Promise.reject(failure));
    await expect(owners.disposeAsync()).rejects.toBe(failure);
  });
});

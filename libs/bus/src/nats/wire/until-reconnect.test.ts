import { TimeoutError } from '@nats-io/nats-core';
import { expect, it } from 'vitest';
import { untilReconnect } from './until-reconnect.ts';

/** Makes the part of a link that reports new connections. */
function stage() {
  const listeners = new Set<() => void>();
  const onConnected = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const reconnect = () => {
    for (const listener of [...listeners]) listener();
  };
  return { link: { onConnected }, listeners, reconnect };
}

it('returns the reply, and the failure of the request', async () => {
  const { link, listeners } = stage();
  expect(await untilReconnect(link, Promise.resolve('stored'))).toBe('stored');
  await expect(untilReconnect(link, Promise.reject(new Error('full')))).rejects.toThrow('full');
  expect(listeners.size).toBe(0);
});

it('does not wait for the reply to a request of an old connection', async () => {
  const { link, listeners, reconnect } = stage();
  const waiting = untilReconnect(link, new Promise(() => {}));
  reconnect();
  await expect(waiting).rejects.toBeInstanceOf(TimeoutError);
  expect(listeners.size).toBe(0);
});

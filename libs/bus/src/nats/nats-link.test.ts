import { subjects } from '@agentmesh/protocol';
import type { NatsConnection } from '@nats-io/nats-core';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createBus } from '../connect/create-bus.ts';
import { createDirectory } from '../discovery/directory.ts';
import { createNatsLink } from './nats-link.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = () => new Promise<never>(() => {});
const names = subjects();
const onError = () => {};

/** A connection to a server that has fallen silent: the client waits for its answers for ever, also after `close`. */
function silentConnection(subscription: object = {}) {
  const closed = Promise.withResolvers<void>();
  const connection = {
    status: async function* () {},
    closed: () => closed.promise,
    close: vi.fn(async () => closed.resolve()),
    drain: never,
    subscribe: () => subscription,
    flush: vi.fn(async () => {}),
  };
  const link = createNatsLink({
    connection: connection as unknown as NatsConnection,
    ...{ subjects: names, inbox: '_INBOX.test', onError },
  });
  return { connection, link };
}

it('closes a connection to a silent server within its limit', async () => {
  const { connection, link } = silentConnection();
  const closing = link.close();
  await vi.advanceTimersByTimeAsync(5_000);
  await expect(Promise.race([closing, 'hangs'])).resolves.toBeUndefined();
  expect(connection.close).toHaveBeenCalled();
});

it('ends a subscription at a silent server within its limit', async () => {
  const { link } = silentConnection({ isClosed: () => false, drain: never });
  const listening = await link.listen('subject', () => {});
  const draining = listening.drain();
  await vi.advanceTimersByTimeAsync(5_000);
  await expect(Promise.race([draining, 'hangs'])).resolves.toBeUndefined();
});

it('closes a bus whose subscriptions do not end', async () => {
  const { connection, link } = silentConnection({ isClosed: () => false, drain: never });
  const { directory } = createDirectory(names, onError);
  const bus = createBus({ link, service: 'test', replica: 'test-1', subjects: names, directory, onError });
  await bus.subscribe('subject', () => {});
  connection.flush = vi.fn(never);
  const closing = bus[Symbol.asyncDispose]();
  await vi.advanceTimersByTimeAsync(20_000);
  await expect(Promise.race([closing, 'hangs'])).resolves.toBeUndefined();
});

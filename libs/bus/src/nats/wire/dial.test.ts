import { AuthorizationError, type NatsConnection } from '@nats-io/nats-core';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { dial } from './dial.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const connection = { status: async function* () {} } as unknown as NatsConnection;

/** Dials a server that refuses some tries with these words, and then lets the client in. */
function dialed(words: string, { refusals }: { refusals: number }) {
  const open = vi.fn(async () => {
    if (open.mock.calls.length <= refusals) throw new AuthorizationError(words);
    return connection;
  });
  const address = { url: 'nats://server', user: 'service', pass: 'secret' };
  return { open, dialing: dial(address, 'name', '_INBOX', 10_000, open) };
}

it('tries again at a server that is too slow to read the credentials', async () => {
  const { dialing } = dialed("'Authentication Timeout'", { refusals: 3 });
  const opened = expect(dialing).resolves.toBe(connection);
  await vi.advanceTimersByTimeAsync(5_000);
  await opened;
});

it('calls a server unreachable that is too slow for the whole time', async () => {
  const { dialing } = dialed("'Authentication Timeout'", { refusals: 1_000 });
  const refused = expect(dialing).rejects.toMatchObject({ code: 'unavailable' });
  await vi.advanceTimersByTimeAsync(10_000);
  await refused;
});

it('gives up at once at a server that refuses the credentials', async () => {
  const { dialing, open } = dialed("'Authorization Violation'", { refusals: 1_000 });
  await expect(dialing).rejects.toMatchObject({ code: 'unauthenticated' });
  expect(open).toHaveBeenCalledTimes(1);
});

it('refuses a server that is too old, and closes the connection', async () => {
  const close = vi.fn(async () => {});
  const old = { info: { version: '2.9.10' }, close } as unknown as NatsConnection;
  const dialing = dial({ url: 'nats://server' }, 'name', '_INBOX', 10_000, async () => old);
  await expect(dialing).rejects.toMatchObject({
    code: 'failed_precondition',
    message: 'nats-server 2.9.10 is too old: the mesh needs 2.10 or newer',
  });
  expect(close).toHaveBeenCalledTimes(1);
});

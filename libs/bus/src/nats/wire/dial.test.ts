import { AuthorizationError, type NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { dial } from './dial.ts';

vi.mock('@nats-io/transport-node');

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.mocked(connect).mockReset();
});

const connection = { status: async function* () {} } as unknown as NatsConnection;
const dialed = () => dial({ url: 'nats://server', user: 'service', pass: 'secret' }, 'name', '_INBOX');

it('tries again at a server that is too slow to read the credentials', async () => {
  vi.mocked(connect)
    .mockRejectedValueOnce(new AuthorizationError("'Authentication Timeout'"))
    .mockResolvedValueOnce(connection);
  const dialing = dialed();
  await vi.runAllTimersAsync();
  expect(await dialing).toBe(connection);
});

it('calls a server unreachable that is too slow for the whole time', async () => {
  vi.mocked(connect).mockRejectedValue(new AuthorizationError("'Authentication Timeout'"));
  const refused = expect(dialed()).rejects.toMatchObject({ code: 'unavailable' });
  await vi.advanceTimersByTimeAsync(10_000);
  await refused;
});

it('gives up at once at a server that refuses the credentials', async () => {
  vi.mocked(connect).mockRejectedValue(new AuthorizationError("'Authorization Violation'"));
  await expect(dialed()).rejects.toMatchObject({ code: 'unauthenticated' });
  expect(connect).toHaveBeenCalledTimes(1);
});

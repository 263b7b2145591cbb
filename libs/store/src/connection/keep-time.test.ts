import { MeshError, meshClock, meshTime } from '@agentmesh/protocol';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { keepTime } from './keep-time.ts';
import type { RedisConnection } from './redis-connection.ts';

const hour = 3_600_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  meshClock.offset = undefined;
});

/** A Redis whose clock is behind that of this process; each round trip takes some time. */
function redisAt({ behindMs = 0, roundTripMs = (): number => 0 }) {
  const server = { behindMs, questions: 0 };
  const time = async () => {
    server.questions += 1;
    const now = Date.now() - server.behindMs;
    await vi.advanceTimersByTimeAsync(roundTripMs());
    return [String(Math.floor(now / 1_000)), String((now % 1_000) * 1_000)];
  };
  const connection = { run: (command: (redis: object) => unknown) => command({ time }) };
  return { server, connection: connection as unknown as RedisConnection };
}

async function kept(connection: RedisConnection, onSkew?: (aheadMs: number) => void) {
  const time = await keepTime(connection, onSkew);
  onTestFinished(() => time[Symbol.dispose]());
}

it.each([2 * hour, -2 * hour])('says once that a clock is off by %d ms', async (behindMs) => {
  const onSkew = vi.fn();
  const { server, connection } = redisAt({ behindMs });
  await kept(connection, onSkew);
  await vi.advanceTimersByTimeAsync(100_000);
  expect(server.questions).toBeGreaterThan(2);
  expect(onSkew.mock.calls).toEqual([[behindMs]]);
  expect(meshTime()).toBe(Date.now() - behindMs);
});

it('follows a clock of Redis that is set', async () => {
  const { server, connection } = redisAt({});
  await kept(connection);
  server.behindMs = hour;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(meshTime()).toBe(Date.now() - hour);
});

it('asks again when an answer was on its way for too long', async () => {
  const trips = [5_000, 3_000, 10];
  const { server, connection } = redisAt({ behindMs: hour, roundTripMs: () => trips.shift() ?? 0 });
  await kept(connection);
  expect(server.questions).toBe(3);
  expect(Math.abs(meshTime() - (Date.now() - hour))).toBeLessThan(20);
});

it('believes a clock that is right when all answers come late', async () => {
  const onSkew = vi.fn();
  const { server, connection } = redisAt({ roundTripMs: () => 5_000 });
  await kept(connection, onSkew);
  expect(server.questions).toBe(5);
  expect(onSkew).not.toHaveBeenCalled();
  expect(meshTime()).toBe(Date.now());
});

it('leaves a process its clock that may not ask', async () => {
  const refused = new MeshError('permission_denied', 'no permissions to run the time command');
  await kept({ run: () => Promise.reject(refused) } as unknown as RedisConnection);
  expect(meshTime()).toBe(Date.now());
});

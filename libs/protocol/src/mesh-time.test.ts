import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { meshClock, meshTime, noteMeshTime } from './mesh-time.ts';

const hour = 3_600_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  meshClock.offset = undefined;
});

it.each([2 * hour, -2 * hour])('is the time of the store where a clock is off by %d ms', (aheadMs) => {
  const store = Date.now() - aheadMs;
  expect(meshTime()).toBe(Date.now());
  expect(noteMeshTime(store)).toBe(aheadMs);
  vi.advanceTimersByTime(5_000);
  expect(meshTime()).toBe(store + 5_000);
});

it('is the time of the process while its clock is good', () => {
  expect(noteMeshTime(Date.now() + 900)).toBe(0);
  expect(meshTime()).toBe(Date.now());
});

it('is the time of the process when its clock goes on meanwhile', () => {
  let now = Date.now();
  vi.spyOn(Date, 'now').mockImplementation(() => now++);
  onTestFinished(() => void vi.restoreAllMocks());
  expect(noteMeshTime(now)).toBe(0);
});

it.each([hour, -hour])('does not jump with the clock of the process: by %d ms', (jumpMs) => {
  const now = Date.now();
  noteMeshTime(now);
  vi.setSystemTime(now + jumpMs);
  vi.advanceTimersByTime(3_000);
  expect(meshTime()).toBe(now + 3_000);
});

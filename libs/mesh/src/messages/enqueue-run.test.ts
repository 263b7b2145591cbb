import { canarySchema } from '@agentmesh/protocol';
import { expect, it } from 'vitest';
import { goesToCanary } from './enqueue-run.ts';

const canary = (percent: number, more: object = {}) =>
  canarySchema.parse({ agent: 'desk', version: '2.0.0', percent, ...more });
const run = (session: string) => ({ app: 'a', user: 'u', session });
const sessions = Array.from({ length: 10_000 }, (_, n) => `s${n}`);
const shareOf = (percent: number) =>
  sessions.filter((session) => goesToCanary(canary(percent), run(session)));

it('a canary gets its share of the sessions', () => {
  expect(shareOf(0)).toEqual([]);
  expect(shareOf(100)).toEqual(sessions);
  // Five standard deviations of 10,000 draws: 150 of 1,000, and 35 of 50.
  expect(Math.abs(shareOf(10).length - 1_000)).toBeLessThan(150);
  expect(Math.abs(shareOf(0.5).length - 50)).toBeLessThan(35);
});

it('a larger share has all sessions of a smaller one', () => {
  expect(shareOf(30)).toEqual(expect.arrayContaining(shareOf(10)));
});

it('sessions of one id differ by their users and apps', () => {
  const users = Array.from({ length: 1_000 }, (_, n) => ({ app: 'a', user: `u${n}`, session: 's1' }));
  const count = users.filter((each) => goesToCanary(canary(50), each)).length;
  expect(Math.abs(count - 500)).toBeLessThan(80);
});

it('an answer goes to the version that asked when the canary is pinned, until the canary is stopped', () => {
  const asked = (askedBy: string) => ({ ...run('s1'), askedBy });
  const pinned = { pinned: true };
  expect(goesToCanary(canary(1, pinned), asked('2.0.0'))).toBe(true);
  expect(goesToCanary(canary(100, pinned), asked('1.0.0'))).toBe(false);
  expect(goesToCanary(canary(100), asked('1.0.0'))).toBe(true);
  expect(goesToCanary(canary(0, pinned), asked('2.0.0'))).toBe(false);
  expect(goesToCanary(canary(100, { ...pinned, ending: true }), asked('2.0.0'))).toBe(false);
});

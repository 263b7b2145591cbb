import type { Message } from '@agentmesh/bus';
import { expect, it } from 'vitest';
import { type News, newsInbox } from './news-inbox.ts';

const message = (subject: string, size = 0): Message => ({
  subject,
  headers: {},
  bytes: new Uint8Array(size),
  json: () => undefined,
});
const noLimit = () => ({ most: Number.POSITIVE_INFINITY, waiting: 0 });
const nameOf = (news: News | 'silence' | 'closed') => (typeof news === 'string' ? news : news.subject);

it('drops waiting news beyond its limit, except the kept ones, and asks for a read of the log', async () => {
  const inbox = newsInbox(({ subject }) => subject === 'end', noLimit(), 10_000);
  inbox.put(message('a', 4_000));
  inbox.put(message('end'));
  inbox.put(message('b', 4_000));
  inbox.put(message('c', 4_000));
  const got = [await inbox.take(0), await inbox.take(0), await inbox.take(0)];
  expect(got.map(nameOf)).toEqual(['look', 'end', 'c']);
  expect(await inbox.take(0)).toBe('silence');
  // There is room again.
  inbox.put(message('d', 8_000));
  expect(nameOf(await inbox.take(0))).toBe('d');
  inbox.put(message('e', 8_000));
  expect(nameOf(await inbox.take(0))).toBe('e');
});

it('drops waiting news beyond the limit of all inboxes, which closing gives back', async () => {
  const shared = { most: 12_000, waiting: 0 };
  const [slow, other] = [newsInbox(() => false, shared, 10_000), newsInbox(() => false, shared, 10_000)];
  slow.put(message('a', 8_000));
  other.put(message('b', 4_000));
  expect(nameOf(await other.take(0))).toBe('look');
  slow.close();
  other.put(message('c', 8_000));
  expect(nameOf(await other.take(0))).toBe('c');
  expect(shared.waiting).toBe(0);
});

it('wakes a waiting reader when news come, and when it is closed', async () => {
  const inbox = newsInbox(() => false, noLimit());
  const next = inbox.take(60_000);
  inbox.put('look');
  expect(await next).toBe('look');
  const last = inbox.take(60_000);
  inbox.close();
  inbox.put('look');
  expect([await last, await inbox.take(60_000)]).toEqual(['closed', 'closed']);
});

import { JetStreamApiError } from '@nats-io/jetstream';
import { type NatsConnection, TimeoutError } from '@nats-io/nats-core';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { BrokerLink } from '../../bus/broker-link.ts';
import { untilStored } from './enqueue.ts';

const connection = { info: {} } as NatsConnection;
const link = {
  connected: true,
  closed: new AbortController().signal,
  onConnected: () => () => {},
} as unknown as BrokerLink;
const isFull = () =>
  new JetStreamApiError({ code: 503, err_code: 10_023, description: 'insufficient resources' });

/** Publishes with these answers, of which the last one repeats itself, each after 2 s; tells how it ended. */
async function ended(...answers: ((() => Error) | 'stored')[]): Promise<string> {
  let tries = 0;
  const end = untilStored(connection, link, 'enqueue', async () => {
    const answer = answers[Math.min(tries, answers.length - 1)];
    tries += 1;
    vi.advanceTimersByTime(2_000);
    if (typeof answer === 'function') throw answer();
    return answer;
  }).catch((error) => error.code);
  return `${await end} after ${tries}`;
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

it('refuses at once what the stream refuses', async () => {
  expect(await ended(isFull)).toBe('resource_exhausted after 1');
});

it('calls no message refused whose earlier try may have been stored', async () => {
  const isLost = () => new TimeoutError();
  expect(await ended(isLost, isFull)).toBe('unavailable after 3');
  expect(await ended(isLost, isFull, 'stored')).toBe('stored after 3');
});

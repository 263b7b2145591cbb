import { expect, it } from 'vitest';
import { describeNats } from './describe-nats.ts';

it.each(['2.15.0', '2.16.3', '3.0.0'])('names NATS %s', (version) => {
  expect(describeNats(version)).toBe(`NATS ${version}`);
});

it.each(['2.10.27', '2.14.1', ''])('says what NATS "%s" cannot prevent', (version) => {
  expect(describeNats(version)).toContain('before 2.15 an agent that was taken over can empty the queues');
});

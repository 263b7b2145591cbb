import { expect, test } from 'vitest';
import { until } from './wait.ts';

test('returns the first value of the condition that counts', async () => {
  const looks = [undefined, null, false, 0];
  expect(await until(async () => looks.shift(), { intervalMs: 1 })).toBe(0);
});

test('names in its error the condition, the time and the last value', async () => {
  await expect(until(() => null, { timeoutMs: 3, what: 'the moon' })).rejects.toThrow(
    'waited 3 ms for the moon; the last look gave null',
  );
  const fail = () => Promise.reject(new Error('dark'));
  await expect(until(fail, { timeoutMs: 0 })).rejects.toThrow('the last look gave the error "dark"');
});

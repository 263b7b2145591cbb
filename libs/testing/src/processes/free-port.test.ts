import { expect, it } from 'vitest';
import { freePort } from './free-port.ts';

it('gives no port twice, although nobody listens on it yet', async () => {
  const ports = await Promise.all(Array.from({ length: 1_000 }, freePort));
  expect(new Set(ports).size).toBe(1_000);
});

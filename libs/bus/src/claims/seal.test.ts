import { describe, expect, it } from 'vitest';
import { openPayload, sealedLength, sealPayload } from './seal.ts';

const bytesOf = (text: string) => new TextEncoder().encode(text);
const large = bytesOf('payload '.repeat(100_000));

async function sealed(payload: Uint8Array): Promise<{ key: string; stored: Buffer }> {
  const { key, bytes } = sealPayload(payload);
  return { key, stored: Buffer.concat(await Array.fromAsync(bytes)) };
}

/** Yields the same bytes in pieces of another length. */
async function* pieces(bytes: Uint8Array, length: number) {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

describe('a sealed payload', () => {
  it.each([1, 5, 17, 65_536, 10_000_000])('is opened from pieces of %i bytes', async (length) => {
    const payload = length === 1 ? bytesOf('short') : large;
    const { key, stored } = await sealed(payload);
    expect(stored.length).toBe(sealedLength(payload.length));
    let count = 0;
    const opened = await openPayload(pieces(stored, length), payload.length, key, () => {
      count += 1;
    });
    expect(Buffer.compare(opened, payload)).toBe(0);
    expect(count).toBe(Math.ceil(stored.length / length));
  });

  it('shows nothing, and has a new key each time', async () => {
    const [one, another] = [await sealed(large), await sealed(large)];
    expect(one.stored.includes('payload')).toBe(false);
    expect(one.key).not.toBe(another.key);
    await expect(openPayload(pieces(one.stored, 999), large.length, another.key, () => {})).rejects.toThrow();
  });

  it('is refused when a byte, its tag or its length was changed', async () => {
    const { key, stored } = await sealed(large);
    for (const at of [0, 400_000, stored.length - 1]) {
      const changed = Buffer.from(stored);
      changed[at] = (changed[at] ?? 0) ^ 1;
      await expect(openPayload(pieces(changed, 65_536), large.length, key, () => {})).rejects.toThrow();
    }
    await expect(openPayload(pieces(stored, 65_536), large.length - 1, key, () => {})).rejects.toThrow();
  });
});

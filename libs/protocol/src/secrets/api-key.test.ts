import { expect, it } from 'vitest';
import { apiKeyHash, isApiKey, newApiKey } from './api-key.ts';

it('makes keys of 256 random bits that are recognised', () => {
  const keys = Array.from({ length: 100 }, newApiKey);
  expect(new Set(keys).size).toBe(100);
  expect(keys.every((key) => key.startsWith('amk_') && isApiKey(key))).toBe(true);
  expect(Buffer.from(keys[0]?.slice(4, 47) ?? '', 'base64url')).toHaveLength(32);
});

it('recognises a mistyped key by its checksum', () => {
  const key = newApiKey();
  const other = key[10] === 'a' ? 'b' : 'a';
  expect(isApiKey(`${key.slice(0, 10)}${other}${key.slice(11)}`)).toBe(false);
  for (const wrong of ['', 'amk_', key.slice(0, -1), `${key}a`, ` ${key}`, key.replace('amk_', 'amx_')])
    expect(isApiKey(wrong)).toBe(false);
});

it('hashes a key to a text that does not hold it', () => {
  const key = newApiKey();
  expect(apiKeyHash(key)).toBe(apiKeyHash(key));
  expect(apiKeyHash(key)).not.toContain(key.slice(4, 20));
});

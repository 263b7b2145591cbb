import { CompactEncrypt, decodeProtectedHeader } from 'jose';
import { describe, expect, it } from 'vitest';
import { createSecretBox, newCredentialKeys } from './secret-box.ts';

const keys = newCredentialKeys('a');

describe('a secret box', () => {
  it('opens a text that it sealed, and shows no part of it', async () => {
    const box = createSecretBox(keys);
    const sealed = await box.seal('pässword', 'ann');
    expect(sealed).not.toContain('word');
    expect(await box.open(sealed, 'ann')).toBe('pässword');
    expect(await box.seal('pässword', 'ann')).not.toBe(sealed);
    expect(await box.open(await box.seal('', 'ann'), 'ann')).toBe('');
  });

  it('seals as compact JWE, whose header names the key and shows no place', async () => {
    const sealed = await createSecretBox(keys).seal('secret', 'am:user:ann');
    expect(sealed.split('.')).toHaveLength(5);
    const header = { alg: 'dir', enc: 'A256GCM', kid: 'a', place: expect.stringMatching(/^[\w-]{43}$/) };
    expect(decodeProtectedHeader(sealed)).toEqual(header);
  });

  it('refuses a text in another place, and a changed text', async () => {
    const box = createSecretBox(keys);
    const sealed = await box.seal('secret', 'ann');
    await expect(box.open(sealed, 'bob')).rejects.toThrow(/another user or place/);
    const [header = '', ...rest] = sealed.split('.');
    for (const [at, part] of rest.entries()) {
      if (part === '') continue;
      const other = `${part.startsWith('A') ? 'B' : 'A'}${part.slice(1)}`;
      const changed = [header, ...rest.with(at, other)].join('.');
      await expect(box.open(changed, 'ann')).rejects.toThrow(/was changed/);
    }
    for (const text of ['a.b.c.d.e', 'plain', '', sealed.slice(0, -4)])
      await expect(box.open(text, 'ann')).rejects.toMatchObject({ code: 'permission_denied' });
  });

  it('refuses a text whose header names another place or algorithm', async () => {
    const box = createSecretBox(keys);
    const sealed = await box.seal('secret', 'ann');
    const [, ...rest] = sealed.split('.');
    const forBob = decodeProtectedHeader(await box.seal('x', 'bob'));
    for (const header of [forBob, { ...forBob, enc: 'A128GCM' }, { ...forBob, alg: 'A256KW' }]) {
      const changed = [Buffer.from(JSON.stringify(header)).toString('base64url'), ...rest].join('.');
      await expect(box.open(changed, 'bob')).rejects.toThrow(/was changed/);
    }
  });

  it('refuses a text that the key sealed without a place', async () => {
    const bytes = Buffer.from(keys.slice(2), 'base64');
    const header = { alg: 'dir', enc: 'A256GCM', kid: 'a' };
    const sealed = await new CompactEncrypt(new TextEncoder().encode('x'))
      .setProtectedHeader(header)
      .encrypt(bytes);
    await expect(createSecretBox(keys).open(sealed, '')).rejects.toThrow(/another user or place/);
  });

  it('opens texts of older keys, and names a missing key', async () => {
    const old = createSecretBox(keys);
    const both = createSecretBox(`${newCredentialKeys('b')},${keys}`);
    expect(await both.open(await old.seal('secret', 'p'), 'p')).toBe('secret');
    const fresh = await both.seal('secret', 'p');
    expect(decodeProtectedHeader(fresh).kid).toBe('b');
    await expect(old.open(fresh, 'p')).rejects.toThrow(/key b, which CREDENTIAL_KEYS/);
  });

  it('does not repeat the key id of a forged text', async () => {
    const [, ...rest] = (await createSecretBox(keys).seal('secret', 'p')).split('.');
    const header = { alg: 'dir', enc: 'A256GCM', kid: 'k\r\nFORGED' };
    const forged = [Buffer.from(JSON.stringify(header)).toString('base64url'), ...rest].join('.');
    const opened = createSecretBox(keys).open(forged, 'p');
    await expect(opened).rejects.toMatchObject({ message: expect.not.stringContaining('FORGED') });
  });

  it('names a wrong key of the right id, and the format of an earlier version', async () => {
    const sealed = await createSecretBox(keys).seal('secret', 'p');
    const wrong = createSecretBox(newCredentialKeys('a'));
    await expect(wrong.open(sealed, 'p')).rejects.toThrow(/another key of the same id in CREDENTIAL_KEYS/);
    await expect(wrong.open('a256gcm.a.AAAA', 'p')).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining('earlier version'),
    });
  });

  it.each([
    ['nothing', '', /entry 1: it must be id:key/],
    ['no id', keys.slice(2), /entry 1: it must be/],
    ['a short key', 'a:c2hvcnQ=', /entry 1: it must be.*32 bytes in base64/],
    ['a bad second entry', `${keys},b`, /entry 2: it must be/],
    ['an id twice', `${keys},${keys}`, /two keys of one id: entry 2/],
  ])('refuses %s, without showing it', (_what, text, problem) => {
    expect(() => createSecretBox(text)).toThrow(problem);
    const message = String(catchError(() => createSecretBox(text)));
    expect(message).not.toContain(keys.slice(2, 20));
    expect(message).not.toContain('c2hvcnQ');
  });
});

function catchError(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}

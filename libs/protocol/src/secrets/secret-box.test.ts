import { describe, expect, it } from 'vitest';
import { createSecretBox, newCredentialKeys } from './secret-box.ts';

const keys = newCredentialKeys('a');

describe('a secret box', () => {
  it('opens what it sealed, and shows nothing of it', () => {
    const box = createSecretBox(keys);
    const sealed = box.seal('pässword', 'ann');
    expect(sealed).not.toContain('word');
    expect(box.open(sealed, 'ann')).toBe('pässword');
    expect(box.seal('pässword', 'ann')).not.toBe(sealed);
    expect(box.open(box.seal('', 'ann'), 'ann')).toBe('');
  });

  it('opens nothing in another place, and nothing that was changed', () => {
    const box = createSecretBox(keys);
    const sealed = box.seal('secret', 'ann');
    expect(() => box.open(sealed, 'bob')).toThrow(/another user or place/);
    const last = sealed.at(-2) === 'A' ? 'B' : 'A';
    const changed = [`${sealed.slice(0, -2)}${last}${sealed.at(-1)}`, 'a256gcm.a.AAAA', 'plain', ''];
    for (const text of changed) expect(() => box.open(text, 'ann')).toThrow(/was changed/);
  });

  it('reads what older keys sealed, and says which key is missing', () => {
    const old = createSecretBox(keys);
    const both = createSecretBox(`${newCredentialKeys('b')},${keys}`);
    expect(both.open(old.seal('secret', 'p'), 'p')).toBe('secret');
    const fresh = both.seal('secret', 'p');
    expect(fresh).toMatch(/^a256gcm\.b\./);
    expect(() => old.open(fresh, 'p')).toThrow(/key b, which CREDENTIAL_KEYS/);
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

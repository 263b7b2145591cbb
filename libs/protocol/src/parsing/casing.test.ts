import { describe, expect, it } from 'vitest';
import { camelizeKeys } from './casing.ts';

describe('keys in either spelling', () => {
  it('become camelCase, also below lists and objects', () => {
    const given = { app_name: 'a', newMessage: { parts: [{ inline_data: { mime_type: 'b' } }] }, x_1: 1 };
    const wanted = { appName: 'a', newMessage: { parts: [{ inlineData: { mimeType: 'b' } }] }, x1: 1 };
    expect(camelizeKeys(given, 'the body')).toEqual(wanted);
  });

  it('stay as they are in values of the user', () => {
    const given = { state_delta: { a_b: 1, aB: 2 }, args: { c_d: { e_f: 1 } } };
    expect(camelizeKeys(given, 'the body')).toEqual({ stateDelta: { a_b: 1, aB: 2 }, args: given.args });
  });

  it.each([
    [{ user_id: 'ann', userId: 'bob' }, 'user_id and userId'],
    [{ userId: 'bob', user_id: 'ann' }, 'userId and user_id'],
    [{ userId: 'bob', user_id: 'bob' }, 'userId and user_id'],
    [{ a_b_c: 1, aB_c: 2 }, 'a_b_c and aB_c'],
    [
      { new_message: { parts: [{ inlineData: { mimeType: 'a', mime_type: 'b' } }] } },
      'mimeType and mime_type',
    ],
    [{ newMessage: {}, new_message: {} }, 'newMessage and new_message'],
  ])('are refused in both spellings at once: %j', (given, names) => {
    expect(() => camelizeKeys(given, 'the body')).toThrow(`the body has both ${names}; send one of them`);
  });

  it('do not lose the key of the prototype, and give no object another one', () => {
    const given = JSON.parse('{"__proto__":{"polluted":1},"_a":1,"a__b":2}');
    const read = camelizeKeys(given, 'the query') as object;
    expect(Object.keys(read)).toEqual(['__proto__', '_a', 'a__b']);
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
    expect('polluted' in read).toBe(false);
  });
});

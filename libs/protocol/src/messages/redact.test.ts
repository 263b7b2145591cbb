import { expect, it } from 'vitest';
import { redactor, redactText } from './redact.ts';

it.each([
  ['my key is AIzaSyD-0123456789abcdefghijklmnopqrstu, use it', 'my key is [redacted], use it'],
  ['sk-proj-0123456789abcdefABCDEF', '[redacted]'],
  ['ghp_0123456789abcdefghijklmnop and AKIAIOSFODNN7EXAMPLE', '[redacted] and [redacted]'],
  [`amk_${'a'.repeat(43)}${'b'.repeat(6)}`, '[redacted]'],
  ['Authorization: Bearer abc.def-ghi_123', 'Authorization: [redacted]'],
  [`eyJ${'a'.repeat(20)}.${'b'.repeat(20)}.${'c'.repeat(20)} is expired`, '[redacted] is expired'],
  ['write to ann.lee+x@mail.example.com today', 'write to [redacted] today'],
  ['card 4111 1111 1111 1111, cvc 123', 'card [redacted], cvc 123'],
  ['-----BEGIN PRIVATE KEY-----\nMIIE\nabc\n-----END PRIVATE KEY-----\nrest', '[redacted]\nrest'],
  ['-----BEGIN RSA PRIVATE KEY-----\nMIIE', '[redacted]'],
])('takes secrets and addresses out of %j', (text, redacted) => {
  expect(redactText(text)).toBe(redacted);
});

it.each([
  'order 4111 1111 1111 1112 of 2026-11-26',
  'call adk-1f0c2a9e-5f1b-4a57-9a2c-0d5f2b1c7e11',
  '1732617600000',
  'a task-force met @noon',
  'the bearer of news',
])('leaves %j as it is', (text) => {
  expect(redactText(text)).toBe(text);
});

it('takes out own parts, and the values of secret fields at any depth', () => {
  const value = {
    text: 'Contract K-1234 of ACME',
    list: [{ 'x-api-key': 'abc', Refresh_Token: { deep: 'abc' }, password: 12, note: 'abc' }],
    token: null,
  };
  expect(JSON.parse(JSON.stringify(value, redactor(/K-\d+|acme/giu)))).toEqual({
    text: 'Contract [redacted] of [redacted]',
    list: [{ 'x-api-key': '[redacted]', Refresh_Token: '[redacted]', password: '[redacted]', note: 'abc' }],
    token: null,
  });
});

it.each(['a', 'a.', '1 ', '-----BEGIN PRIVATE KEY-----', 'eyJ', 'a@a.', 'Bearer '])(
  'takes time that grows with the length of a text of many %j alone',
  (part) => {
    const startedAt = performance.now();
    redactText(part.repeat(500_000 / part.length));
    // The square of the length would take minutes.
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  },
);

import { describe, expect, it } from 'vitest';
import { assertNamesHost, hostCheck } from './allowed-hosts.ts';

describe('a gateway that only its own machine reaches', () => {
  const check = hostCheck('127.0.0.1', undefined);

  it.each(['localhost', 'localhost:8000', '127.0.0.1:8000', '[::1]:8000', 'app.localhost', undefined])(
    'serves %s',
    (host) => expect(() => check(host)).not.toThrow(),
  );

  it.each([
    'evil.example',
    'evil.example:8000',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '10.0.0.1',
    '',
  ])('refuses %s', (host) => expect(() => check(host)).toThrow('MESH_HTTP_ALLOWED_HOSTS'));

  it('serves names that the operator allows, and no others', () => {
    const named = hostCheck('127.0.0.1', ['mesh.example']);
    expect(() => named('mesh.example:80')).not.toThrow();
    expect(() => named('evil.example')).toThrow();
    expect(() => hostCheck('127.0.0.1', ['*'])('evil.example')).not.toThrow();
  });
});

describe('a gateway that others reach', () => {
  it('serves any name unless the operator says which', () => {
    expect(() => hostCheck('0.0.0.0', undefined)('mesh.example')).not.toThrow();
    expect(() => hostCheck('0.0.0.0', ['mesh.example'])('evil.example')).toThrow();
  });
});

it('a request of HTTP/1.1 must name its host, an older one need not', () => {
  expect(() => assertNamesHost({ headers: {}, httpVersion: '1.1' })).toThrow('the header host is missing');
  expect(() => assertNamesHost({ headers: {}, httpVersion: '1.0' })).not.toThrow();
  expect(() => assertNamesHost({ headers: { host: 'localhost' }, httpVersion: '1.1' })).not.toThrow();
});

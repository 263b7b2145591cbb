import { describe, expect, it } from 'vitest';
import { hostCheck, namedHost } from './allowed-hosts.ts';

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

const requestOf = (url: string, hosts: string[], httpVersion = '1.1') => ({
  ...{ url, httpVersion, headers: hosts[0] === undefined ? {} : { host: hosts[0] } },
  rawHeaders: ['Accept', '*/*', ...hosts.flatMap((host) => ['Host', host])],
});

it.each([
  [requestOf('/', []), 'the header host is missing'],
  [requestOf('/', ['localhost', 'evil.example']), 'stands twice'],
  [requestOf('http://evil.example/apps', ['localhost']), 'names host "evil.example"'],
])('a request that names no host, or two, is refused (%#)', (request, problem) => {
  expect(() => namedHost(request)).toThrow(problem);
});

it.each([
  [requestOf('/', [], '1.0'), undefined],
  [requestOf('/', ['localhost:80']), 'localhost:80'],
  [requestOf('HTTP://Localhost:80/apps', ['localhost:80']), 'Localhost:80'],
  [requestOf('http://evil.example/apps', [], '1.0'), 'evil.example'],
])('the host of a request is that of its address, else that of its header (%#)', (request, host) => {
  expect(namedHost(request)).toBe(host);
});

it.each([
  ['the header', '/list-apps', 'user@localhost'],
  ['the address', 'http://user@localhost/', 'user@localhost'],
])('refuses user information in the host of %s', (_, url, host) =>
  expect(() => namedHost(requestOf(url, [host]))).toThrow('user information'),
);

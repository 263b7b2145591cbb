import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@agentmesh/service';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { byNone } from '../access/by-none.ts';
import { buildServer } from '../build-server.ts';
import type { GatewayContext } from '../context/context.ts';
import { findWebUi } from './find-web-ui.ts';

let parent: string;
let folder: string;

beforeAll(() => {
  parent = mkdtempSync(join(tmpdir(), 'agentmesh-web-'));
  folder = join(parent, 'ui');
  mkdirSync(join(folder, 'assets'), { recursive: true });
  writeFileSync(join(parent, 'secret.txt'), 'secret');
  writeFileSync(join(folder, 'index.html'), '<base href="./">');
  writeFileSync(join(folder, 'main-ABCD1234.js'), 'go()');
  writeFileSync(join(folder, 'assets', 'mark.svg'), '<svg/>');
  writeFileSync(join(folder, '.version'), '1');
  symlinkSync(join(parent, 'secret.txt'), join(folder, 'link.txt'));
});
afterAll(() => rmSync(parent, { recursive: true }));

/** Makes a gateway without a mesh, with the web UI of a setting. */
function gateway(adkWeb: string | undefined) {
  const destination = { write: () => {} };
  const log = createLogger({ service: 'gateway', replica: 'gateway-1', level: 'error', destination });
  const config = {} as unknown as GatewayContext['config'];
  const mesh = {} as unknown as GatewayContext['mesh'];
  return buildServer(
    { mesh, config, log, stopping: new AbortController().signal },
    {
      bodyLimit: 1_000,
      requestTimeoutMs: 1_000,
      httpHost: '127.0.0.1',
      allowedHosts: undefined,
      authenticators: [byNone],
      adkWeb,
    },
  );
}

const get = async (url: string, headers: Record<string, string> = {}, adkWeb: string | undefined = folder) =>
  await gateway(adkWeb).inject({ method: 'GET', url, headers });

describe('the web UI', () => {
  it('is served with types, versions and times to keep', async () => {
    const page = await get('/dev-ui/?app=shop');
    expect([page.statusCode, page.body]).toEqual([200, '<base href="./">']);
    expect(page.headers).toMatchObject({
      'cache-control': 'no-cache',
      'content-type': 'text/html; charset=utf-8',
      'referrer-policy': 'same-origin',
    });
    const code = await get('/dev-ui/main-ABCD1234.js');
    expect(code.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect(code.headers['content-type']).toBe('text/javascript; charset=utf-8');
    const again = await get('/dev-ui/', { 'if-none-match': String(page.headers.etag) });
    expect([again.statusCode, again.body]).toEqual([304, '']);
    expect((await get('/dev-ui/assets/mark.svg')).headers['content-type']).toBe('image/svg+xml');
    expect((await get('/dev-ui/assets/config/runtime-config.json')).json()).toEqual({ backendUrl: '' });
  });

  it('sends browsers from / to it, and only browsers', async () => {
    const browser = await get('/', { accept: 'text/html,*/*;q=0.8' });
    expect([browser.statusCode, browser.headers.location]).toEqual([302, '/dev-ui/']);
    expect((await get('/', { accept: '*/*' })).json()).toMatchObject({ name: 'agentmesh gateway' });
    const bare = await get('/dev-ui?app=shop');
    expect([bare.statusCode, bare.headers.location]).toEqual([302, '/dev-ui/?app=shop']);
  });

  it.each([
    '/dev-ui/../secret.txt',
    '/dev-ui/..%2Fsecret.txt',
    '/dev-ui/assets/..%2f..%2fsecret.txt',
    '/dev-ui/%2e%2e/secret.txt',
    '/dev-ui/..%5Csecret.txt',
    '/dev-ui//etc/passwd',
    '/dev-ui/link.txt',
    '/dev-ui/.version',
    '/dev-ui/assets',
  ])('does not serve %s', async (path) => {
    const answer = await get(path);
    expect([answer.statusCode, answer.json()]).toMatchObject([404, { code: 'not_found' }]);
  });

  it('takes no other method than GET and HEAD', async () => {
    const answer = await gateway(folder).inject({ method: 'POST', url: '/dev-ui/index.html' });
    expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'GET, HEAD']);
  });

  it('is off unless it is asked for', async () => {
    expect((await gateway(undefined).inject({ method: 'GET', url: '/dev-ui/' })).statusCode).toBe(404);
    const root = await gateway(undefined).inject({
      method: 'GET',
      url: '/',
      headers: { accept: 'text/html' },
    });
    expect(root.statusCode).toBe(200);
  });

  it('is that of the installed package for 1', async () => {
    const page = await get('/dev-ui/', {}, '1');
    expect(page.body).toContain('<title>Agent Development Kit Dev UI</title>');
  });

  it('is refused at the start when it is not there', () => {
    expect(() => gateway(join(parent, 'nowhere'))).toThrow(/nowhere holds no index.html; name the folder/);
    expect(() => findWebUi('1', [join(parent, 'package.json')])).toThrow(
      /the package @google\/adk-devtools is not installed; install it \(npm install --save-dev @google\/adk-devtools\), or set/,
    );
  });
});

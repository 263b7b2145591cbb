import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { connectNats } from '../connect-nats.ts';
import { credsLogin } from './creds-login.ts';

function fileWith(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'agentmesh-creds-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'x.creds');
  writeFileSync(file, text);
  return file;
}

it('a file of credentials and a user exclude each other, in the options and in the URL', async () => {
  const address = { service: 'client', credsFile: fileWith('') };
  const message = expect.stringMatching(
    /exclude each other; set MESH_NATS_CREDS, or MESH_NATS_USER and MESH_NATS_PASSWORD/,
  );
  for (const login of [{ url: 'nats://127.0.0.1:1', user: 'me' }, { url: 'nats://me:pass@127.0.0.1:1' }])
    await expect(connectNats({ ...address, ...login })).rejects.toMatchObject({
      code: 'invalid_argument',
      message,
    });
});

it('a file that is missing or holds no credentials is named', () => {
  expect(() => credsLogin('/nowhere/x.creds', {})).toThrow(/cannot be read: .*\/nowhere\/x\.creds/);
  const file = fileWith('{"user":"me"}');
  expect(() => credsLogin(file, {})).toThrow(`${file} holds no NATS credentials; name the file that`);
});

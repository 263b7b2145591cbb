import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { createSecretBox } from '@agentmesh/protocol';
import { afterEach, expect, it, vi } from 'vitest';
import { credentialKeysFor } from './credential-keys.ts';

afterEach(() => vi.unstubAllEnvs());

it('opens secrets of an earlier start, and keeps the key from other users', async () => {
  vi.stubEnv('CREDENTIAL_KEYS', '');
  const folder = await mkdtemp(`${tmpdir()}/credential-keys-`);
  const first = await credentialKeysFor(`${folder}/data`);
  const sealed = await createSecretBox(first).seal('secret', 'place');
  const again = await credentialKeysFor(`${folder}/data`);
  expect(await createSecretBox(again).open(sealed, 'place')).toBe('secret');
  expect((await stat(`${folder}/data/credential-keys`)).mode & 0o777).toBe(0o600);
  await rm(folder, { recursive: true });
});

it('takes keys of the environment first, and new keys when no data is kept', async () => {
  vi.stubEnv('CREDENTIAL_KEYS', 'given');
  expect(await credentialKeysFor('/nowhere')).toBe('given');
  vi.stubEnv('CREDENTIAL_KEYS', '');
  expect(await credentialKeysFor(undefined)).not.toBe(await credentialKeysFor(undefined));
});

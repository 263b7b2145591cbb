import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import {
  createSecretBox,
  type KeyWrapper,
  keys,
  newCredentialKeys,
  type SecretUse,
} from '@agentmesh/protocol';
import type { DataKeyOwner, DataKeys } from '@agentmesh/store';
import { describe, expect, it } from 'vitest';
import { UserSecrets } from './user-secrets.ts';

const names = keys();
const use: SecretUse = { kind: 'credential', app: 'app', user: 'ann', session: 's', key: 'calendar' };
const place = names.credential('app', 'ann', 'calendar');
const tool = 'tool_calendar';

/** The data keys in memory, with the contract of those in Redis. */
function memoryDataKeys() {
  const stored = new Map<string, string>();
  const placeOf = (owner: DataKeyOwner) =>
    owner === 'keepers' ? names.keeperKey : names.dataKey(owner.appName, owner.userId);
  const dataKeys: DataKeys = {
    keys: names,
    placeOf,
    find: async (owner) => stored.get(placeOf(owner)),
    async add(owner, wrapped) {
      const kept = stored.get(placeOf(owner)) ?? wrapped;
      stored.set(placeOf(owner), kept);
      return kept;
    },
    async replace(owner, from, to) {
      if (stored.get(placeOf(owner)) === from) stored.set(placeOf(owner), to);
    },
  };
  return { dataKeys, stored };
}

/** A master key in a service of its own, which counts its uses. */
function keyService() {
  const master = randomBytes(32);
  const uses = { wraps: 0, unwraps: 0, fails: false };
  const wrapper: KeyWrapper = {
    async wrap(dataKey, owner) {
      uses.wraps += 1;
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', master, nonce).setAAD(Buffer.from(owner));
      const bytes = Buffer.concat([cipher.update(dataKey), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), bytes]).toString('base64');
    },
    async unwrap(wrapped, owner) {
      uses.unwraps += 1;
      if (uses.fails) throw new Error('the key service is away');
      const bytes = Buffer.from(wrapped, 'base64');
      const cipher = createDecipheriv('aes-256-gcm', master, bytes.subarray(0, 12));
      cipher.setAuthTag(bytes.subarray(12, 28)).setAAD(Buffer.from(owner));
      return Buffer.concat([cipher.update(bytes.subarray(28)), cipher.final()]);
    },
  };
  return { wrapper, uses };
}

describe('the secrets of users', () => {
  it('have one data key for each user, which all keepers share', async () => {
    const { dataKeys, stored } = memoryDataKeys();
    const credentialKeys = newCredentialKeys();
    const [one, other] = [0, 1].map(() => new UserSecrets({ dataKeys, credentialKeys })) as [
      UserSecrets,
      UserSecrets,
    ];
    const both = await Promise.all([one.seal('a', use, tool), other.seal('b', use, tool)]);
    expect(await Promise.all(both.map((each) => other.open(each, use, tool)))).toEqual(['a', 'b']);
    await one.seal('c', { ...use, user: 'bob' }, tool);
    expect([...stored.keys()]).toEqual([names.dataKey('app', 'ann'), names.dataKey('app', 'bob')]);
    for (const moved of [{ user: 'bob' }, { app: 'b' }, { key: 'mail' }])
      await expect(one.open(both[0], { ...use, ...moved }, tool)).rejects.toMatchObject({
        code: expect.stringMatching(/permission_denied|failed_precondition/),
      });
  });

  it('of a sign-in are for the service that sealed it', async () => {
    const secrets = new UserSecrets({ ...memoryDataKeys(), credentialKeys: newCredentialKeys() });
    const signIn: SecretUse = {
      kind: 'sign-in',
      app: 'app',
      user: 'ann',
      session: 's',
      at: 's',
      question: 'q',
    };
    const sealed = await secrets.seal('verifier', signIn, tool);
    expect(await secrets.open(sealed, signIn, tool)).toBe('verifier');
    await expect(secrets.open(sealed, signIn, 'tool_mail')).rejects.toMatchObject({
      code: 'permission_denied',
    });
  });

  it('are lost with the data key, for a keeper that has used it too', async () => {
    const { dataKeys, stored } = memoryDataKeys();
    const secrets = new UserSecrets({ dataKeys, credentialKeys: newCredentialKeys() });
    const sealed = await secrets.seal('secret', use, tool);
    stored.clear();
    await expect(secrets.open(sealed, use, tool)).rejects.toMatchObject({ code: 'failed_precondition' });
    const next = await secrets.seal('new', use, tool);
    expect(await secrets.open(next, use, tool)).toBe('new');
  });

  it('keep their data keys when the master key changes, and need the old one no more after a use', async () => {
    const { dataKeys } = memoryDataKeys();
    const [first, second] = [newCredentialKeys('k1'), newCredentialKeys('k2')];
    const before = new UserSecrets({ dataKeys, credentialKeys: first });
    const sealed = await before.seal('secret', use, tool);
    const behind = new UserSecrets({ dataKeys, credentialKeys: `${first},${second}` });
    const changed = new UserSecrets({ dataKeys, credentialKeys: `${second},${first}` });
    const after = new UserSecrets({ dataKeys, credentialKeys: second });
    expect(await behind.open(sealed, use, tool)).toBe('secret');
    await expect(after.open(sealed, use, tool)).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining('key k1'),
    });
    // Keepers of both steps work at the same time.
    expect(await changed.open(sealed, use, tool)).toBe('secret');
    expect(await behind.open(sealed, use, tool)).toBe('secret');
    expect(await changed.open(sealed, use, tool)).toBe('secret');
    expect(await after.open(sealed, use, tool)).toBe('secret');
  });

  it('that a process with the keys sealed itself are opened with these keys', async () => {
    const credentialKeys = newCredentialKeys();
    const older = await createSecretBox(credentialKeys).seal('secret', place);
    const { dataKeys } = memoryDataKeys();
    expect(await new UserSecrets({ dataKeys, credentialKeys }).open(older, use, tool)).toBe('secret');
    const { wrapper: keyWrapper } = keyService();
    const both = new UserSecrets({ dataKeys, credentialKeys, keyWrapper });
    expect(await both.open(older, use, tool)).toBe('secret');
    await expect(new UserSecrets({ dataKeys, keyWrapper }).open(older, use, tool)).rejects.toMatchObject({
      message: expect.stringContaining('CREDENTIAL_KEYS'),
    });
  });

  it('have a master key in a key service, which is asked once for each user', async () => {
    const { dataKeys, stored } = memoryDataKeys();
    const { wrapper: keyWrapper, uses } = keyService();
    const secrets = new UserSecrets({ dataKeys, keyWrapper });
    const sealed = await secrets.seal('secret', use, tool);
    for (let n = 0; n < 5; n += 1) expect(await secrets.open(sealed, use, tool)).toBe('secret');
    expect(uses).toMatchObject({ wraps: 1, unwraps: 1 });
    // The data key of one user does not serve another one: the key service refuses it.
    stored.set(names.dataKey('app', 'bob'), stored.get(names.dataKey('app', 'ann')) ?? '');
    await expect(secrets.seal('x', { ...use, user: 'bob' }, tool)).rejects.toThrow();
    const later = new UserSecrets({ dataKeys, keyWrapper });
    uses.fails = true;
    await expect(later.open(sealed, use, tool)).rejects.toMatchObject({
      code: 'unavailable',
      cause: expect.objectContaining({ message: 'the key service is away' }),
    });
    uses.fails = false;
    expect(await later.open(sealed, use, tool)).toBe('secret');
  });

  it('reach the keepers by one key that all of them have', async () => {
    const { dataKeys } = memoryDataKeys();
    const credentialKeys = newCredentialKeys();
    const [one, other] = [0, 1].map(() => new UserSecrets({ dataKeys, credentialKeys }));
    expect((await one?.receiverKeys())?.publicKey).toEqual((await other?.receiverKeys())?.publicKey);
  });
});

import { until } from '@agentmesh/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AuthConfig, AuthCredential } from '../credentials/auth-config.ts';
import type { CredentialRecords, CredentialService } from '../credentials/credential-service.ts';
import type { SignInRef, SignInService } from '../credentials/sign-in-service.ts';

/** A function that makes both services, on empty stores. */
export type MakeCredentialServices = () => Promise<{
  credentials: CredentialService;
  records: CredentialRecords;
  signIns: SignInService;
  dispose(): Promise<void>;
}>;

const ann = { appName: 'app', userId: 'ann' };
const token = (accessToken: string, more: AuthCredential['oauth2'] = {}): AuthCredential => ({
  authType: 'oauth2',
  oauth2: { accessToken, ...more },
});

/** Tests that every pair of a credential service and a sign-in service must pass. */
export function credentialServicesConformance(name: string, make: MakeCredentialServices): void {
  let credentials: CredentialService;
  let records: CredentialRecords;
  let signIns: SignInService;
  let dispose: () => Promise<void>;
  beforeEach(async () => {
    ({ credentials, records, signIns, dispose } = await make());
  });
  afterEach(() => dispose());

  describe(`credential services: ${name}`, () => {
    saved(() => credentials);
    listed(
      () => credentials,
      () => records,
    );
    signedIn(() => signIns);
    turns(() => signIns);
  });
}

function listed(service: () => CredentialService, records: () => CredentialRecords): void {
  const save = (credentialKey: string, exchangedAuthCredential: AuthCredential, owner = ann) =>
    service().saveCredential(
      { credentialKey, authScheme: { type: 'oauth2' }, exchangedAuthCredential },
      owner,
    );
  const bob = { ...ann, userId: 'bob' };

  test('they are listed without secrets, and deleted together', async () => {
    const expiresAt = Math.floor(Date.now() / 1_000) + 900;
    await save('k', token('SECRET', { expiresAt }));
    await save('k', token('SECRET', { expiresAt }));
    await save('l:é/ '.repeat(40), { authType: 'apiKey', apiKey: 'SECRET' });
    await save('k', token('other'), bob);
    const kept = await records().listCredentials(ann);
    expect(kept.sort((a, b) => a.credentialKey.length - b.credentialKey.length)).toEqual([
      { credentialKey: 'k', authType: 'oauth2', endsAt: expiresAt * 1_000 },
      { credentialKey: 'l:é/ '.repeat(40), authType: 'apiKey' },
    ]);
    expect(await records().deleteCredentials(ann)).toBe(2);
    expect(await records().deleteCredentials(ann)).toBe(0);
    expect(await records().listCredentials(ann)).toEqual([]);
    const config = { credentialKey: 'k', authScheme: { type: 'oauth2' } } as const;
    expect(await service().loadCredential(config, ann)).toBeUndefined();
    expect(await service().loadCredential(config, bob)).toEqual(token('other'));
  });
}

function saved(service: () => CredentialService): void {
  const config = (credentialKey: string, exchangedAuthCredential?: AuthCredential): AuthConfig => ({
    credentialKey,
    authScheme: { type: 'oauth2' },
    ...(exchangedAuthCredential && { exchangedAuthCredential }),
  });

  test('a credential is found under its key until another one replaces it', async () => {
    expect(await service().loadCredential(config('k'), ann)).toBeUndefined();
    await service().saveCredential(config('k', token('one', { refreshToken: 'r' })), ann);
    await service().saveCredential(config('l', { authType: 'apiKey', apiKey: 'key' }), ann);
    expect(await service().loadCredential(config('k'), ann)).toEqual(token('one', { refreshToken: 'r' }));
    await service().saveCredential(config('k', token('two')), ann);
    expect(await service().loadCredential(config('k'), ann)).toEqual(token('two'));
    expect(await service().loadCredential(config('l'), ann)).toEqual({ authType: 'apiKey', apiKey: 'key' });
  });

  test('it is one of the user in the app, whatever their names are', async () => {
    await service().saveCredential(config('k:é/ '.repeat(40), token('one')), ann);
    for (const other of [
      { appName: 'app', userId: 'bob' },
      { appName: 'other', userId: 'ann' },
      { appName: 'app:ann', userId: '' },
    ])
      expect(await service().loadCredential(config('k:é/ '.repeat(40)), other)).toBeUndefined();
    expect(await service().loadCredential(config('k:é/ '.repeat(40)), ann)).toEqual(token('one'));
    expect(await service().loadCredential(config('k:é/ '.repeat(39)), ann)).toBeUndefined();
  });

  test('a token without refresh is deleted when it expires; a refreshable one stays', async () => {
    const expiresAt = Math.floor(Date.now() / 1000) + 1;
    await service().saveCredential(config('k', token('short', { expiresAt })), ann);
    await service().saveCredential(config('l', token('long', { expiresAt, refreshToken: 'r' })), ann);
    expect(await service().loadCredential(config('k'), ann)).toEqual(token('short', { expiresAt }));
    await until(async () => (await service().loadCredential(config('k'), ann)) === undefined);
    expect((await service().loadCredential(config('l'), ann))?.oauth2?.accessToken).toBe('long');
  });

  test('what cannot be saved is refused', async () => {
    await expect(service().saveCredential(config('k'), ann)).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    await expect(service().saveCredential(config('', token('one')), ann)).rejects.toMatchObject({
      code: 'invalid_argument',
    });
  });
}

function signedIn(service: () => SignInService): void {
  const ref: SignInRef = { ...ann, sessionId: 's', questionId: 'adk-1-credential-1' };
  const signIn = (state: string) => ({
    authConfig: { credentialKey: 'k', authScheme: { type: 'oauth2' as const } },
    state,
    codeVerifier: 'v',
  });

  test('the first sign-in of a question stays, in its session alone', async () => {
    expect(await service().find(ref)).toBeUndefined();
    expect(await service().open(ref, signIn('one'))).toEqual(signIn('one'));
    expect(await service().open(ref, signIn('two'))).toEqual(signIn('one'));
    expect(await service().find(ref)).toEqual({ signIn: signIn('one'), status: 'asked' });
    expect(await service().statusOf(ref)).toBe('asked');
    expect(await service().find(ref, true)).toBeUndefined();
    const callers = { ...ref, questionId: 'adk-3-credential-1' };
    await service().open(callers, { ...signIn('one'), isCallers: true });
    expect(await service().find(callers)).toBeUndefined();
    expect(await service().find(callers, true)).toMatchObject({ signIn: { isCallers: true } });
    for (const other of [{ userId: 'bob' }, { sessionId: 't' }, { questionId: 'adk-2-credential-1' }])
      expect(await service().find({ ...ref, ...other })).toBeUndefined();
  });

  test('an answer is stored until its use, can be replaced before, and is deleted afterwards', async () => {
    expect(await service().answer(ref, token('none'), 'k')).toBe(false);
    await service().open(ref, signIn('one'));
    expect(await service().answer(ref, token('a'), 'k')).toBe(true);
    expect(await service().answer(ref, token('b'), 'k')).toBe(true);
    expect(await service().find(ref)).toMatchObject({ status: 'answered', answer: token('b') });
    expect(await service().move(ref, 'answered', 'taken')).toBe(true);
    expect(await service().answer(ref, token('c'), 'k')).toBe(false);
    expect(await service().move(ref, 'taken', 'answered')).toBe(true);
    expect(await service().find(ref)).toMatchObject({ status: 'answered', answer: token('b') });
    expect(await service().move(ref, 'answered', 'closed')).toBe(true);
    const { answeredAt = 0, ...closed } = (await service().find(ref)) ?? {};
    expect(closed).toEqual({ signIn: signIn('one'), status: 'closed' });
    expect(answeredAt).toBeGreaterThan(Date.now() - 60_000);
    expect(await service().answer(ref, token('d'), 'k')).toBe(false);
  });

  test('one of many concurrent callers takes a code', async () => {
    expect(await service().move(ref, 'answered', 'taken')).toBe(false);
    await service().open(ref, signIn('one'));
    await service().answer(ref, token('a'), 'k');
    const taken = await Promise.all(
      Array.from({ length: 8 }, () => service().move(ref, 'answered', 'taken')),
    );
    expect(taken.filter(Boolean)).toHaveLength(1);
  });
}

function turns(service: () => SignInService): void {
  test('one at a time renews a credential, until the end of its turn or of its time', async () => {
    const take = (holder: string, ttlMs = 60_000) => service().takeTurn(ann, 'k', holder, ttlMs);
    expect(await take('a')).toBe(true);
    expect(await take('a')).toBe(true);
    expect(await take('b')).toBe(false);
    expect(await service().takeTurn({ ...ann, userId: 'bob' }, 'k', 'b', 60_000)).toBe(true);
    await service().endTurn(ann, 'k', 'b');
    expect(await take('b')).toBe(false);
    await service().endTurn(ann, 'k', 'a');
    expect(await take('b', 1)).toBe(true);
    await until(() => take('c'));
  });
}

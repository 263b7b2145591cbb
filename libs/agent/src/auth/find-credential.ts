import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { MeshError } from '@agentmesh/protocol';
import type { Context } from '../base/context.ts';
import type { AuthConfig, AuthCredential } from '../credentials/auth-config.ts';
import type { CredentialService } from '../credentials/credential-service.ts';
import type { SignInService } from '../credentials/sign-in-service.ts';
import { isUsable } from '../credentials/validity.ts';
import { oauthOf, requestMs } from './scheme-oauth.ts';
import { TokenError } from './token-error.ts';

/**
 * Time for which a process may hold the right to renew a credential, or a code, in ms: longer than two
 * requests (endpoints, tokens). A process that holds the right or the code longer has died.
 */
export const holdMs = 2 * requestMs + 5_000;
/** Interval at which to check whether another process has finished, in ms. */
export const lookMs = 50;

/** Loads the client of authorization servers when it is needed first: most agents never need it. */
export const oauthClient = () => import('./fetch-tokens.ts');

/** The services that store credentials and sign-ins. */
export interface CredentialServices {
  credentialService: CredentialService;
  signInService: SignInService;
}

/**
 * Returns the credential services of a context.
 *
 * @throws MeshError `failed_precondition` without such a service, or without a user
 */
export function credentialServicesOf(context: Context): CredentialServices {
  const { credentialService, signInService } = context.services;
  if (!credentialService || !signInService) {
    throw new MeshError(
      'failed_precondition',
      'this process keeps no credentials: set CREDENTIAL_KEYS at a keeper, or in all processes of a mesh without keepers; or give the runner a credentialService and a signInService',
    );
  }
  if (!context.appName || !context.userId || !context.sessionId)
    throw new MeshError('failed_precondition', 'a call without app, user and session has no credentials');
  return { credentialService, signInService };
}

/**
 * Finds a credential without asking a person: the application's own key, a saved credential, a renewed
 * credential, or a token of the application itself.
 *
 * @throws TokenError when the authorization server refuses the application, or cannot be reached
 */
export async function findCredential(
  authConfig: AuthConfig,
  context: Context,
): Promise<AuthCredential | undefined> {
  const { authScheme, rawAuthCredential: raw } = authConfig;
  if (raw && isUsable(raw)) return raw;
  const saved = await savedCredential(authConfig, context);
  if (saved) return saved;
  if (oauthOf(authScheme).grant !== 'client_credentials' || raw?.oauth2?.clientId === undefined)
    return undefined;
  const { fetchOwnToken } = await oauthClient();
  const token = await fetchOwnToken(authConfig, context.abortSignal);
  await save(authConfig, context, token);
  return token;
}

/**
 * Returns the saved credential, renewed if necessary; undefined when a person must be asked.
 *
 * @throws TokenError `unavailable`
 */
export async function savedCredential(
  authConfig: AuthConfig,
  context: Context,
): Promise<AuthCredential | undefined> {
  const { credentialService, signInService } = credentialServicesOf(context);
  const load = () => credentialService.loadCredential(authConfig, context);
  const first = await load();
  if (!first || isUsable(first)) return first;
  if (first.oauth2?.refreshToken === undefined) return undefined;
  const { credentialKey } = authConfig;
  const holder = randomUUID();
  while (!(await signInService.takeTurn(context, credentialKey, holder, holdMs)))
    await delay(lookMs, undefined, context.abortSignal ? { signal: context.abortSignal } : {});
  try {
    // Another process may have renewed the credential in the meantime and used up the refresh token.
    const current = await load();
    if (!current || isUsable(current)) return current;
    return await renewed(authConfig, current, context);
  } finally {
    await signInService.endTurn(context, credentialKey, holder);
  }
}

async function renewed(
  authConfig: AuthConfig,
  current: AuthCredential,
  context: Context,
): Promise<AuthCredential | undefined> {
  if (current.oauth2?.refreshToken === undefined) return undefined;
  try {
    const { refreshTokens } = await oauthClient();
    const fresh = await refreshTokens(authConfig, current);
    await save(authConfig, context, fresh);
    return fresh;
  } catch (error) {
    if (error instanceof TokenError && error.code === 'unauthenticated') return undefined;
    throw error;
  }
}

/** Saves a fetched credential under the application's configuration. */
export async function save(
  authConfig: AuthConfig,
  context: Context,
  credential: AuthCredential,
): Promise<void> {
  const { credentialService } = credentialServicesOf(context);
  await credentialService.saveCredential({ ...authConfig, exchangedAuthCredential: credential }, context);
}

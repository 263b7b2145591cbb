import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { MeshError } from '@agentmesh/protocol';
import type { Context } from '../base/context.ts';
import type { AuthConfig, AuthCredential } from '../credentials/auth-config.ts';
import type { CredentialService } from '../credentials/credential-service.ts';
import type { SignInService } from '../credentials/sign-in-service.ts';
import { isUsable } from '../credentials/validity.ts';
import { oauthOf, requestMs } from './authorization-server.ts';
import { fetchOwnToken, refreshTokens } from './fetch-tokens.ts';
import { TokenError } from './token-error.ts';

/** Longer than two requests take, for where the endpoints are and for the tokens: who holds a turn or a code so long has died. */
export const holdMs = 2 * requestMs + 5_000;
/** How often one looks whether another process is through, in ms. */
export const lookMs = 50;

/** Both parts of keeping credentials. */
export interface CredentialServices {
  credentialService: CredentialService;
  signInService: SignInService;
}

/** @throws MeshError `failed_precondition` where nothing keeps credentials, or the call is nobody's */
export function credentialServicesOf(context: Context): CredentialServices {
  const { credentialService, signInService } = context.services;
  if (!credentialService || !signInService) {
    throw new MeshError(
      'failed_precondition',
      'this process keeps no credentials: set CREDENTIAL_KEYS, the same for the gateway, agents and tools; or give the runner a credentialService and a signInService',
    );
  }
  if (!context.appName || !context.userId || !context.sessionId)
    throw new MeshError('failed_precondition', 'a call without app, user and session has no credentials');
  return { credentialService, signInService };
}

/**
 * A credential that can be had without asking a person: the application's own key, one that was saved, a renewed one, or a token of the
 * application's own.
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
  const token = await fetchOwnToken(authConfig, context.abortSignal);
  await save(authConfig, context, token);
  return token;
}

/** The saved credential, renewed if need be; undefined where a person must be asked. @throws TokenError `unavailable` */
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
    // Another one may have renewed it meanwhile, and used the refresh token up.
    const known = await load();
    if (!known || isUsable(known)) return known;
    return await renewed(authConfig, known, context);
  } finally {
    await signInService.endTurn(context, credentialKey, holder);
  }
}

async function renewed(
  authConfig: AuthConfig,
  known: AuthCredential,
  context: Context,
): Promise<AuthCredential | undefined> {
  if (known.oauth2?.refreshToken === undefined) return undefined;
  try {
    const fresh = await refreshTokens(authConfig, known);
    await save(authConfig, context, fresh);
    return fresh;
  } catch (error) {
    if (error instanceof TokenError && error.code === 'unauthenticated') return undefined;
    throw error;
  }
}

/** Keeps what was fetched, under the application's configuration. */
export async function save(
  authConfig: AuthConfig,
  context: Context,
  credential: AuthCredential,
): Promise<void> {
  const { credentialService } = credentialServicesOf(context);
  await credentialService.saveCredential({ ...authConfig, exchangedAuthCredential: credential }, context);
}

import { MeshError, meshTime, parse } from '@agentmesh/protocol';
import { z } from 'zod';
import type { AuthConfig, AuthCredential } from './auth-config.ts';

const text = z.string().min(1).max(16_384).optional();
const number = z.number().optional();

/** The fields that a user may send; all others are dropped. Longest text: 16 KiB. */
const answerSchema = z.object({
  exchangedAuthCredential: z.object({
    authType: z.enum(['apiKey', 'http', 'oauth2', 'openIdConnect', 'serviceAccount']).optional(),
    apiKey: text,
    http: z
      .object({
        scheme: text,
        credentials: z.object({ username: text, password: text, token: text }).optional(),
      })
      .optional(),
    oauth2: z
      .object({
        authCode: text,
        authResponseUri: text,
        redirectUri: text,
        accessToken: text,
        refreshToken: text,
        idToken: text,
        expiresAt: number,
        expiresIn: number,
      })
      .optional(),
  }),
});

/**
 * Takes the user's fields from an answer: keys, tokens, the code. Endpoints and the application's part come
 * from the question; an answer cannot change them.
 *
 * @throws MeshError `invalid_argument` for an answer without a credential; `permission_denied` for an answer
 * to another sign-in
 */
export function credentialFrom(request: AuthConfig, response: unknown): AuthCredential {
  const { exchangedAuthCredential: answer } = parse(
    answerSchema,
    withoutNulls(response),
    'the answer to a request for credentials',
  );
  const { authType, apiKey, http, oauth2 } = answer;
  const { accessToken, authCode, authResponseUri, expiresIn, ...others } = oauth2 ?? {};
  if (!(apiKey ?? http?.credentials ?? accessToken ?? authCode ?? authResponseUri)) {
    throw new MeshError(
      'invalid_argument',
      'the answer to a request for credentials holds none: send apiKey, http.credentials, oauth2.accessToken, authCode or authResponseUri',
    );
  }
  const { oauth2: expected, authType: askedType } = request.exchangedAuthCredential ?? {};
  assertState(expected?.state, authResponseUri);
  const expiresAt =
    others.expiresAt ?? (expiresIn === undefined ? undefined : Math.floor(meshTime() / 1000) + expiresIn);
  const clientId = expected?.clientId;
  const fields = { clientId, ...others, accessToken, authCode, authResponseUri, expiresAt };
  return withoutNulls({
    authType: askedType ?? authType ?? 'apiKey',
    apiKey,
    http,
    ...(oauth2 && { oauth2: fields }),
  }) as AuthCredential;
}

/** Checks that the redirect belongs to the requested sign-in (RFC 6749 §10.12). */
function assertState(expected: string | undefined, returned: string | undefined): void {
  if (expected === undefined || returned === undefined) return;
  const state = URL.canParse(returned) ? new URL(returned).searchParams.get('state') : null;
  if (state === expected) return;
  throw new MeshError(
    'permission_denied',
    'the sign-in is not the one that was asked for: its state differs',
  );
}

/** Removes null values: clients in other languages send them for absent fields. */
function withoutNulls(value: unknown): unknown {
  const json = JSON.stringify(value, (_key, each: unknown) => (each === null ? undefined : each));
  return json === undefined ? undefined : JSON.parse(json);
}

import { apiKeyPrefix, isToken, MeshError, meshTime } from '@agentmesh/protocol';
import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose';
import { type Authenticator, bearerOf } from './authenticator.ts';

export interface TokenOptions {
  issuer: string;
  audience: string;
  /** The address of the issuer's public keys. */
  jwksUrl: string;
  /** The algorithms of signatures that are accepted; all of them asymmetric. */
  algorithms: readonly string[];
  /** The claims, or the fields of claims, with the user and the roles. */
  userClaim: string;
  rolesClaim: string;
  /** Roles of every person. */
  defaultRoles: readonly string[];
  /** Shortest time between two requests for the keys, in ms. */
  cooldownMs: number;
}

/** Time after which the public keys are fetched again, in ms. */
const keysMs = 600_000;
/** Time limit of a request for the public keys, in ms. */
const fetchMs = 5_000;
/** Difference between the clocks of the issuer and of the gateway that is forgiven, in seconds. */
const toleranceS = 5;

/**
 * Reads tokens of an OpenID Connect issuer: signed JWTs (RFC 7519), checked as RFC 8725 says. The public keys
 * of the issuer are fetched and cached; a key that is not known yet makes the gateway fetch them again.
 */
export function byTokens(options: TokenOptions): Authenticator {
  const { issuer, audience, algorithms, userClaim, rolesClaim, defaultRoles } = options;
  const keys = createRemoteJWKSet(new URL(options.jwksUrl), {
    cooldownDuration: options.cooldownMs,
    cacheMaxAge: keysMs,
    timeoutDuration: fetchMs,
  });
  const rules = {
    ...{ issuer, audience, algorithms: [...algorithms], requiredClaims: ['exp'] },
    clockTolerance: toleranceS,
  };
  return {
    way: 'oidc',
    wants: `a token of ${issuer}: Authorization: Bearer …`,
    async authenticate(request) {
      const token = bearerOf(request);
      if (token === undefined || token.startsWith(apiKeyPrefix)) return undefined;
      const claims = await jwtVerify(token, keys, { ...rules, currentDate: new Date(meshTime()) }).then(
        ({ payload }) => payload,
        refuse,
      );
      const user = claimOf(claims, userClaim);
      if (typeof user !== 'string' || !isToken(user))
        throw new MeshError('unauthenticated', `the claim ${userClaim} of the token names no user`);
      return { via: 'oidc', user, roles: [...rolesOf(claims, rolesClaim), ...defaultRoles] };
    },
  };
}

/** Codes of errors that say something about the token; all others are about the public keys. */
const tokenCodes = [
  ...['ERR_JWT_EXPIRED', 'ERR_JWT_CLAIM_VALIDATION_FAILED', 'ERR_JWT_INVALID', 'ERR_JWS_INVALID'],
  ...['ERR_JWS_SIGNATURE_VERIFICATION_FAILED', 'ERR_JOSE_ALG_NOT_ALLOWED', 'ERR_JOSE_NOT_SUPPORTED'],
  ...['ERR_JWKS_NO_MATCHING_KEY', 'ERR_JWKS_MULTIPLE_MATCHING_KEYS'],
];

function refuse(cause: unknown): never {
  if (cause instanceof errors.JOSEError && tokenCodes.includes(cause.code))
    throw new MeshError('unauthenticated', `the token is not valid: ${cause.message}`, { cause });
  throw new MeshError(
    'unavailable',
    'the public keys of the issuer cannot be read now (MESH_OIDC_JWKS_URL); try again',
    { cause },
  );
}

/** Returns a claim by its name, or else by the path of names with dots between them. */
function claimOf(claims: JWTPayload, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  return path
    .split('.')
    .reduce<unknown>(
      (value, name) =>
        typeof value === 'object' && value !== null && Object.hasOwn(value, name)
          ? Reflect.get(value, name)
          : undefined,
      claims,
    );
}

/** @throws MeshError `unauthenticated` for a claim that is neither a list of texts nor a text */
function rolesOf(claims: JWTPayload, path: string): string[] {
  const claim = claimOf(claims, path);
  const list = typeof claim === 'string' ? claim.split(/[\s,]+/).filter(Boolean) : (claim ?? []);
  if (Array.isArray(list) && list.every((role) => typeof role === 'string')) return list;
  throw new MeshError('unauthenticated', `the claim ${path} of the token is no list of roles`);
}

import { randomUUID } from 'node:crypto';
import { exportJWK, generateKeyPair, importJWK, type JWK, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';
import { MeshError } from '../errors/mesh-error.ts';
import { rolesSchema } from './answered-by.ts';

/** The authenticated sender of the request that began a run. */
export const callerSchema = z.object({
  /** The way by which the gateway knows the caller: `keys`, `oidc`, `proxy`. */
  via: z.string().min(1).max(64),
  /** The user of the key or the token; absent for a key of a service. */
  user: z.string().min(1).optional(),
  /** The roles in the app of the run. */
  roles: rolesSchema,
  /** The name of the API key. */
  key: z.string().min(1).max(256).optional(),
});
export type Caller = z.infer<typeof callerSchema>;

/** The work for which a caller is vouched: nobody can show the identity for other work. */
export interface CallersWork {
  appName: string;
  userId: string;
  invocationId: string;
}

/** Signs the identities of callers. Only gateways have one. */
export interface CallerSigner {
  /** The id of the key. */
  keyId: string;
  /** The public key, as a JWK in JSON. */
  publicKey: string;
  sign(work: CallersWork, caller: Caller): Promise<string>;
}

const algorithm = 'EdDSA';
/** Distinguishes identities from all other tokens (RFC 8725, section 3.11). */
const typ = 'agentmesh-caller+jwt';
/** Longest identity, in characters: it travels in a header of every message of the run. */
const maxLength = 8_192;

/** Makes a signer with a new key (Ed25519). */
export async function createCallerSigner(): Promise<CallerSigner> {
  const { publicKey, privateKey } = await generateKeyPair(algorithm);
  const keyId = randomUUID();
  return {
    keyId,
    publicKey: JSON.stringify(await exportJWK(publicKey)),
    async sign({ appName, userId, invocationId }, caller) {
      const signed = await new SignJWT({ app: appName, user: userId, invocation: invocationId, caller })
        .setProtectedHeader({ alg: algorithm, kid: keyId, typ })
        .sign(privateKey);
      if (signed.length <= maxLength) return signed;
      throw new MeshError(
        'invalid_argument',
        `the roles of the caller take ${signed.length} characters, and ${maxLength} are the most; give it fewer roles`,
      );
    },
  };
}

/**
 * Reads a signed identity for a piece of work.
 *
 * @param keyOf returns the public key with this id, as a JWK in JSON; undefined for an id that no gateway has
 * @throws MeshError `permission_denied` for an identity that no gateway signed, or that is for other work
 */
export async function readCaller(
  signed: string,
  { appName, userId, invocationId }: CallersWork,
  keyOf: (keyId: string) => Promise<string | undefined>,
): Promise<Caller> {
  const keyFor = async ({ kid = '' }: { kid?: string | undefined }) => {
    const key = await keyOf(kid);
    if (key === undefined) throw forged();
    return await importJWK(JSON.parse(key) as JWK, algorithm);
  };
  const claims = await jwtVerify(signed, keyFor, { algorithms: [algorithm], typ }).then(
    ({ payload }) => payload,
    (cause: unknown) => {
      throw cause instanceof MeshError ? cause : forged(cause);
    },
  );
  const { app, user, invocation, caller } = claims as JWTPayload & Record<string, unknown>;
  if (app !== appName || user !== userId || invocation !== invocationId)
    throw new MeshError('permission_denied', 'the identity of the caller is for another run');
  return callerSchema.parse(caller);
}

function forged(cause?: unknown): MeshError {
  return new MeshError(
    'permission_denied',
    'the identity of the caller was not signed by a gateway of this mesh; start the run at a gateway',
    { cause },
  );
}

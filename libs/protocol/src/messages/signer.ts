import { randomUUID } from 'node:crypto';
import { exportJWK, generateKeyPair, importJWK, type JWK, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { MeshError } from '../errors/mesh-error.ts';

/** Signs claims with a key of its own. */
export interface Signer {
  /** The id of the key. */
  keyId: string;
  /** The public key, as a JWK in JSON. */
  publicKey: string;
  /**
   * Returns a signed token of a type.
   *
   * @throws MeshError `invalid_argument` for claims that are too long for a header
   */
  sign(typ: string, claims: Record<string, unknown>): Promise<string>;
}

const algorithm = 'EdDSA';
/** Longest token, in characters: it travels in a header. */
const maxLength = 8_192;

/** Makes a signer with a new key (Ed25519). */
export async function createSigner(): Promise<Signer> {
  const { publicKey, privateKey } = await generateKeyPair(algorithm);
  const keyId = randomUUID();
  return {
    keyId,
    publicKey: JSON.stringify(await exportJWK(publicKey)),
    async sign(typ, claims) {
      const signed = await new SignJWT(claims)
        .setProtectedHeader({ alg: algorithm, kid: keyId, typ })
        .sign(privateKey);
      if (signed.length <= maxLength) return signed;
      throw new MeshError(
        'invalid_argument',
        `the name and the roles of the person take ${signed.length} characters, and ${maxLength} are the most; give the person fewer roles`,
      );
    },
  };
}

/**
 * Reads the claims of a signed token.
 *
 * @param keyOf returns the public key of a signer of this type of token, as a JWK in JSON; undefined for a key that
 * nobody stored, and for a type that is not wanted here (RFC 8725, section 3.11)
 * @returns undefined for a token that no such key signed
 * @throws the errors of `keyOf`
 */
export async function readSigned(
  signed: string,
  keyOf: (keyId: string, typ: string) => Promise<string | undefined>,
): Promise<(JWTPayload & { typ: string }) | undefined> {
  let failure: { thrown: unknown } | undefined;
  let used = '';
  const keyFor = async ({ kid = '', typ = '' }: { kid?: string | undefined; typ?: string | undefined }) => {
    const key = await keyOf(kid, typ).catch((thrown: unknown) => {
      failure = { thrown };
    });
    if (typeof key !== 'string') throw new Error('the key is not known');
    used = typ;
    return await importJWK(JSON.parse(key) as JWK, algorithm);
  };
  try {
    const { payload } = await jwtVerify(signed, keyFor, { algorithms: [algorithm] });
    return { ...payload, typ: used };
  } catch {
    if (failure) throw failure.thrown;
    return undefined;
  }
}

import { createHash, randomBytes } from 'node:crypto';
import { CompactEncrypt, type CompactJWEHeaderParameters, compactDecrypt, decodeProtectedHeader } from 'jose';
import { MeshError } from '../errors/mesh-error.ts';
import type { SecretUse } from './secret-use.ts';

/** The name of the environment variable that holds the keys. */
export const credentialKeysVariable = 'CREDENTIAL_KEYS';

/**
 * Encryption of texts that are stored elsewhere. The owner of the store cannot read or change the texts, or
 * move a text to another place. The keys are in this process, or a keeper has them.
 */
export interface SecretBox {
  /**
   * Encrypts a text for one place.
   *
   * @throws MeshError of a keeper: `permission_denied` for a use that is not of the work in hand, `unavailable`
   * when no keeper answers
   */
  seal(text: string, place: string, use: SecretUse): Promise<string>;
  /** Decrypts a text of {@link seal}. @throws MeshError as {@link KeyRingBox.open}, and as {@link seal} */
  open(sealed: string, place: string, use: SecretUse): Promise<string>;
}

/** A {@link SecretBox} with the keys in this process. It needs no use: it seals and opens for every place. */
export interface KeyRingBox {
  /**
   * Encrypts a text for one place, with the first key.
   *
   * @param place the place where the text is stored, such as its Redis key; the text can be opened only for
   * this place
   */
  seal(text: string, place: string): Promise<string>;
  /**
   * Decrypts a text of {@link seal}, with any of the keys.
   *
   * @throws MeshError `failed_precondition` when the key is missing, and for the format of an earlier
   * version; `permission_denied` for a text that was changed, or sealed with another key of the same id, or
   * sealed for another place
   */
  open(sealed: string, place: string): Promise<string>;
}

interface Key {
  id: string;
  bytes: Uint8Array;
}

/**
 * Direct encryption with AES-256-GCM (RFC 7518, 4.5 and 5.3): there is no need to wrap a key, and random
 * nonces of 96 bits are enough for 2^32 texts per key.
 */
const keyManagement = 'dir';
const encryption = 'A256GCM';

/** The header with our own parameter, the hash of the place. The header is authenticated with the text. */
interface SealedHeader extends CompactJWEHeaderParameters {
  place?: unknown;
}

/**
 * Makes a box that seals as compact JWE (RFC 7516). The keys are given as `id:key`, with commas between
 * several; a key is 32 random bytes in base64 (`openssl rand -base64 32`). The first key encrypts, all keys
 * decrypt: put a new key before the others, and remove an old key when no text is sealed with it any more.
 *
 * @throws MeshError `invalid_argument` that names the number of the wrong entry in {@link
 * credentialKeysVariable}, and never shows it
 */
export function createSecretBox(keys: string): KeyRingBox {
  const ring = readKeys(keys);
  const [first] = ring.values();
  if (!first) throw invalid('has no key');
  return boxOn(first, ring, unknownKey);
}

/**
 * Makes a box with the data key of one owner, which a {@link KeyWrapper} keeps.
 *
 * @throws from `open`: MeshError `failed_precondition` for a text that was sealed with another data key, as
 * after the deletion of the owner's data
 */
export function dataKeyBox(bytes: Uint8Array): KeyRingBox {
  const id = `${dataKeyPrefix}${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}`;
  const key = { id, bytes };
  return boxOn(key, new Map([[id, key]]), lostKey);
}

/** Tells whether a text was sealed with a data key, and not with one of {@link credentialKeysVariable}. */
export function hasDataKey(sealed: string): boolean {
  return keyIdOf(sealed)?.startsWith(dataKeyPrefix) ?? false;
}

function boxOn(first: Key, ring: ReadonlyMap<string, Key>, unknown: (id: string) => MeshError): KeyRingBox {
  return {
    seal: (text, place) =>
      new CompactEncrypt(Buffer.from(text))
        .setProtectedHeader({ alg: keyManagement, enc: encryption, kid: first.id, place: hashOf(place) })
        .encrypt(first.bytes),
    async open(sealed, place) {
      if (isOutdatedSecret(sealed)) throw outdated();
      const { plaintext, header } = await decrypt(sealed, ring, unknown);
      if (header.place !== hashOf(place)) throw misplaced();
      return Buffer.from(plaintext).toString();
    },
  };
}

/**
 * Returns the id of the key with which a text was sealed; undefined for a text that is not sealed. Nothing is
 * checked.
 */
export function keyIdOf(sealed: string): string | undefined {
  try {
    return decodeProtectedHeader(sealed).kid;
  } catch {
    return undefined;
  }
}

/** Tells whether a secret was sealed by an earlier version, in a format that {@link createSecretBox} refuses. */
export function isOutdatedSecret(sealed: string): boolean {
  return sealed.startsWith('a256gcm.');
}

/** Makes a new random key, in the form that {@link createSecretBox} reads. */
export function newCredentialKeys(id = 'k1'): string {
  return `${id}:${randomBytes(32).toString('base64')}`;
}

/** The form of a key's id. The id of a data key has a dot, which no other id has. */
const keyIdPattern = /^[\w.-]{1,32}$/;
const dataKeyPrefix = 'data.';

function readKeys(text: string): Map<string, Key> {
  const ring = new Map<string, Key>();
  for (const [index, entry] of text.split(',').entries()) {
    const [, id = '', key = ''] = /^([\w-]{1,32}):([A-Za-z0-9+/]{43}=)$/.exec(entry.trim()) ?? [];
    if (id === '') {
      throw invalid(
        `has no key in entry ${index + 1}: it must be id:key, where the key is 32 bytes in base64 (openssl rand -base64 32)`,
      );
    }
    if (ring.has(id))
      throw invalid(`has two keys of one id: entry ${index + 1} repeats the id of another entry`);
    ring.set(id, { id, bytes: Buffer.from(key, 'base64') });
  }
  return ring;
}

async function decrypt(
  sealed: string,
  ring: ReadonlyMap<string, Key>,
  unknown: (id: string) => MeshError,
): Promise<{ plaintext: Uint8Array; header: SealedHeader }> {
  const keyOf = ({ kid = '' }: CompactJWEHeaderParameters) => {
    const key = ring.get(kid);
    if (!key) throw keyIdPattern.test(kid) ? unknown(kid) : damaged();
    return key.bytes;
  };
  try {
    const { plaintext, protectedHeader: header } = await compactDecrypt(sealed, keyOf, {
      keyManagementAlgorithms: [keyManagement],
      contentEncryptionAlgorithms: [encryption],
    });
    return { plaintext, header };
  } catch (error) {
    throw error instanceof MeshError ? error : damaged(error);
  }
}

/**
 * Hashes a place, because it holds ids of users and sessions of any length, which the header must not show.
 */
function hashOf(place: string): string {
  return createHash('sha256').update(place).digest('base64url');
}

function invalid(why: string): MeshError {
  return new MeshError('invalid_argument', `${credentialKeysVariable} ${why}`);
}

function unknownKey(id: string): MeshError {
  if (id.startsWith(dataKeyPrefix)) return ofKeeper();
  return new MeshError(
    'failed_precondition',
    `a secret was sealed with key ${id}, which ${credentialKeysVariable} of this process does not have; add it behind the others`,
  );
}

function lostKey(): MeshError {
  return new MeshError(
    'failed_precondition',
    'a secret was sealed with a data key that is gone, because all data of its user was deleted; sign in again',
    { details: { reason: lostKeyReason } },
  );
}

const lostKeyReason = 'lost data key';

/** Tells whether nobody can open a secret any more, because its data key is gone: it counts as none. */
export function isLostSecret(error: unknown): boolean {
  return error instanceof MeshError && error.details?.reason === lostKeyReason;
}

function ofKeeper(): MeshError {
  return new MeshError(
    'failed_precondition',
    `a secret was sealed by a keeper, and this process has keys of its own: remove ${credentialKeysVariable} from it, so that it asks keepers`,
  );
}

function outdated(): MeshError {
  return new MeshError(
    'failed_precondition',
    'a secret was sealed by an earlier version, in a format that is not read any more; delete it and sign in again',
  );
}

function misplaced(): MeshError {
  return new MeshError(
    'permission_denied',
    'a sealed secret belongs to another user or place; it is not used',
  );
}

function damaged(cause?: unknown): MeshError {
  return new MeshError(
    'permission_denied',
    `a sealed secret was changed, or sealed with another key of the same id in ${credentialKeysVariable}; it is not used`,
    { cause },
  );
}

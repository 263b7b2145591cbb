import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { MeshError } from '../errors/mesh-error.ts';

/** Name of the variable that holds the keys. */
export const credentialKeysVariable = 'CREDENTIAL_KEYS';

/** Seals texts that others keep for us: they can neither read nor change them, nor put one in another's place. */
export interface SecretBox {
  /**
   * Encrypts a text for one place, with the first key.
   *
   * @param place where it is kept, such as its Redis key; only there it can be opened
   */
  seal(text: string, place: string): string;
  /**
   * Reads what {@link seal} made, with any of the keys.
   *
   * @throws MeshError `failed_precondition` when the key is none of ours; `permission_denied` for what was changed, or sealed for another place
   */
  open(sealed: string, place: string): string;
}

interface Key {
  id: string;
  bytes: Buffer;
}

/**
 * The suite's name, as part of the text: another one can come without a flag day. AES-256-GCM (NIST SP 800-38D), random nonces of 96 bits, which
 * one key may have 2^32 of, and tags of 128 bits.
 */
const suite = 'a256gcm';
const nonceBytes = 12;
const tagBytes = 16;

/**
 * A box with the keys of a text: `id:key`, several with commas between, a key being 32 random bytes in base64 (`openssl rand -base64 32`). The
 * first one encrypts, all decrypt: a new one is put before the others, and an old one taken away when nothing is sealed with it any more.
 *
 * @throws MeshError `invalid_argument` that says which entry of {@link credentialKeysVariable} is wrong, and never shows it
 */
export function createSecretBox(keys: string): SecretBox {
  const ring = readKeys(keys);
  const [first] = ring.values();
  if (!first) throw invalid('has no key');
  return {
    seal: (text, place) => `${suite}.${first.id}.${encrypt(first, text, place).toString('base64url')}`,
    open(sealed, place) {
      const [name, id = '', body = ''] = sealed.split('.');
      if (name !== suite) throw damaged();
      const key = ring.get(id);
      if (!key) {
        throw new MeshError(
          'failed_precondition',
          `a secret was sealed with key ${id}, which ${credentialKeysVariable} of this process does not have; add it behind the others`,
        );
      }
      return decrypt(key, Buffer.from(body, 'base64url'), place);
    },
  };
}

/** A key ring of one new random key, in the form that {@link createSecretBox} reads. */
export function newCredentialKeys(id = 'k1'): string {
  return `${id}:${randomBytes(32).toString('base64')}`;
}

function readKeys(text: string): Map<string, Key> {
  const ring = new Map<string, Key>();
  for (const [index, entry] of text.split(',').entries()) {
    const [, id = '', key = ''] = /^([\w-]{1,32}):([A-Za-z0-9+/]{43}=)$/.exec(entry.trim()) ?? [];
    if (id === '') {
      throw invalid(
        `has no key in entry ${index + 1}: it must be id:key, the key 32 bytes in base64 (openssl rand -base64 32)`,
      );
    }
    if (ring.has(id)) throw invalid(`has two keys of one id: entry ${index + 1} has that of another one`);
    ring.set(id, { id, bytes: Buffer.from(key, 'base64') });
  }
  return ring;
}

function invalid(why: string): MeshError {
  return new MeshError('invalid_argument', `${credentialKeysVariable} ${why}`);
}

function encrypt({ bytes }: Key, text: string, place: string): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', bytes, nonce, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.from(place));
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
}

function decrypt({ bytes }: Key, sealed: Buffer, place: string): string {
  if (sealed.length < nonceBytes + tagBytes) throw damaged();
  const decipher = createDecipheriv('aes-256-gcm', bytes, sealed.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  });
  decipher.setAAD(Buffer.from(place));
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  try {
    const text = decipher.update(sealed.subarray(nonceBytes, -tagBytes));
    return Buffer.concat([text, decipher.final()]).toString('utf8');
  } catch (cause) {
    throw damaged(cause);
  }
}

function damaged(cause?: unknown): MeshError {
  return new MeshError(
    'permission_denied',
    'a sealed secret was changed, or belongs to another user or place; it is not used',
    { cause },
  );
}

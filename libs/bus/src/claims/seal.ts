import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** AES-256-GCM. Each payload has a key of its own, so the nonce may be the same for all. */
const cipherName = 'aes-256-gcm';
const nonce = new Uint8Array(12);
const tagBytes = 16;
/** The number of bytes that are encrypted at a time. */
const pieceBytes = 256 * 1024;

/** A payload as it is stored, and the key that opens it. */
export interface SealedPayload {
  /** 32 bytes as base64url. */
  key: string;
  /** The encrypted bytes, and the tag of 16 bytes behind them. */
  bytes: AsyncIterable<Uint8Array>;
}

/** Encrypts a payload with a new key. */
export function sealPayload(payload: Uint8Array): SealedPayload {
  const key = randomBytes(32);
  async function* pieces() {
    const cipher = createCipheriv(cipherName, key, nonce);
    for (let at = 0; at < payload.length; at += pieceBytes)
      yield cipher.update(payload.subarray(at, at + pieceBytes));
    cipher.final();
    yield cipher.getAuthTag();
  }
  return { key: key.toString('base64url'), bytes: pieces() };
}

/** Returns the length of a payload of this length when it is stored, in bytes. */
export function sealedLength(size: number): number {
  return size + tagBytes;
}

/**
 * Decrypts a stored payload. Calls `onPiece` for each piece of it.
 *
 * @throws Error for bytes that are not what the key sealed
 */
export async function openPayload(
  stored: AsyncIterable<Uint8Array>,
  size: number,
  key: string,
  onPiece: () => void,
): Promise<Uint8Array> {
  const decipher = createDecipheriv(cipherName, Buffer.from(key, 'base64url'), nonce);
  const payload = new Uint8Array(size);
  const tag = new Uint8Array(tagBytes);
  let at = 0;
  for await (const piece of stored) {
    const inside = piece.subarray(0, Math.max(0, size - at));
    if (inside.length > 0) payload.set(decipher.update(inside), at);
    tag.set(piece.subarray(inside.length), Math.max(0, at + inside.length - size));
    at += piece.length;
    onPiece();
  }
  decipher.setAuthTag(tag);
  decipher.final();
  return payload;
}

import { createPrivateKey, sign } from 'node:crypto';
import { fromSeed, type KeyPair } from '@nats-io/jwt';

/**
 * Returns the key pair of a seed. It signs with Node.js: the library computes the key pair again for each
 * signature, which takes a hundred times as long. The public key is computed when it is not given.
 */
export function keyOf(seed: string, knownPublicKey?: string): KeyPair {
  const pair = fromSeed(new TextEncoder().encode(seed.trim()));
  const publicKey = knownPublicKey ?? pair.getPublicKey();
  const signer = createPrivateKey({
    key: Buffer.concat([pkcs8Head, rawSeedOf(seed.trim())]),
    format: 'der',
    type: 'pkcs8',
  });
  pair.getPublicKey = () => publicKey;
  // The library only asks whether there is a private key.
  pair.getPrivateKey = () => pair.getSeed();
  pair.sign = (input) => new Uint8Array(sign(null, input, signer));
  return pair;
}

/** Returns the text of a key pair's seed. */
export function seedOf(key: KeyPair): string {
  return new TextDecoder().decode(key.getSeed());
}

/** The head of an Ed25519 key in PKCS #8 (RFC 8410); the 32 bytes of the key follow. */
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex');
/** The alphabet of base 32 (RFC 4648). */
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** Returns the 32 bytes of a seed, which follow two bytes with its kind. */
function rawSeedOf(seed: string): Buffer {
  const bits = [...seed].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('');
  const bytes = bits.match(/.{8}/g) ?? [];
  return Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2))).subarray(2, 34);
}

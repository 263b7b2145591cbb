import { createPrivateKey } from 'node:crypto';
import { CompactEncrypt, compactDecrypt, exportJWK, generateKeyPair, type JWK } from 'jose';
import { z } from 'zod';
import { MeshError } from '../errors/mesh-error.ts';

/**
 * Direct key agreement (RFC 7518, 4.6) with X25519 (RFC 8037): a message for the holder of one private key,
 * which nobody can read on the way. It does not tell who has sent it.
 */
const agreement = 'ECDH-ES';
const curve = 'X25519';
const encryption = 'A256GCM';
/** The beginning of an X25519 private key in PKCS #8 (RFC 8410), before its 32 bytes. */
const pkcs8 = Buffer.from('302e020100300506032b656e04220420', 'hex');

/** The public key of a receiver. */
export const publicKeySchema = z.strictObject({
  kty: z.literal('OKP'),
  crv: z.literal(curve),
  x: z.string().regex(/^[\w-]{43}$/),
});
export type PublicKey = z.infer<typeof publicKeySchema>;

/** The keys of a receiver of sealed messages. */
export interface ReceiverKeys {
  publicKey: PublicKey;
  /** Returns the text of a message. @throws MeshError `permission_denied` for a message to another receiver */
  open(message: string): Promise<string>;
}

/** Makes new keys, for one answer. */
export async function newReceiverKeys(): Promise<ReceiverKeys> {
  const { privateKey } = await generateKeyPair(agreement, { crv: curve, extractable: true });
  return receiverOf(await exportJWK(privateKey));
}

/** Makes the keys of a receiver from 32 secret bytes, the same each time. */
export function receiverKeysOf(bytes: Uint8Array): ReceiverKeys {
  const key = createPrivateKey({ key: Buffer.concat([pkcs8, bytes]), format: 'der', type: 'pkcs8' });
  return receiverOf(key.export({ format: 'jwk' }) as JWK);
}

function receiverOf(privateKey: JWK): ReceiverKeys {
  const { x = '' } = privateKey;
  return {
    publicKey: { kty: 'OKP', crv: curve, x },
    async open(message) {
      try {
        const { plaintext } = await compactDecrypt(message, privateKey, {
          keyManagementAlgorithms: [agreement],
          contentEncryptionAlgorithms: [encryption],
        });
        return Buffer.from(plaintext).toString();
      } catch (cause) {
        throw new MeshError('permission_denied', 'a sealed message is for another receiver, or was changed', {
          cause,
        });
      }
    },
  };
}

/** Encrypts a text for the receiver with this public key. */
export async function sealMessage(text: string, to: PublicKey): Promise<string> {
  return await new CompactEncrypt(Buffer.from(text))
    .setProtectedHeader({ alg: agreement, enc: encryption })
    .encrypt(to);
}

import { createSecretBox, keyIdOf } from './secret-box.ts';

/**
 * The master key of a mesh, under which keepers store the data key of each user (envelope encryption). The
 * default is {@link keyRingWrapper}; an operator may give a keeper one that asks a key management service. The
 * master key then never leaves that service.
 */
export interface KeyWrapper {
  /**
   * Encrypts a data key.
   *
   * @param dataKey 32 bytes
   * @param owner the place of the data key, which must come back at {@link unwrap}: give it to the service as
   * the context of the encryption
   * @returns any text
   * @throws MeshError, or any other error when the service does not answer: the asking service then tries again
   */
  wrap(dataKey: Uint8Array, owner: string): Promise<string>;
  /** Decrypts a data key. Must fail for another owner than that of {@link wrap}. */
  unwrap(wrapped: string, owner: string): Promise<Uint8Array>;
  /**
   * Tells whether a data key is wrapped with the current master key. A keeper wraps the others again when they
   * are used. Absent for a service that changes keys by itself.
   */
  isCurrent?(wrapped: string): boolean;
}

/**
 * Wraps data keys with the keys of `CREDENTIAL_KEYS`: the first key wraps, all keys unwrap.
 *
 * @throws MeshError as `createSecretBox`
 */
export function keyRingWrapper(keys: string): Required<KeyWrapper> {
  const box = createSecretBox(keys);
  const [first] = keys.trim().split(':');
  return {
    wrap: (dataKey, owner) => box.seal(Buffer.from(dataKey).toString('base64'), owner),
    unwrap: async (wrapped, owner) => Buffer.from(await box.open(wrapped, owner), 'base64'),
    isCurrent: (wrapped) => keyIdOf(wrapped) === first,
  };
}

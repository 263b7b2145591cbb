import {
  type Caller,
  type CallerSigner,
  type CallersWork,
  createCallerSigner,
  type Headers,
  header,
  readCaller,
} from '@agentmesh/protocol';
import type { CallerKeys } from '@agentmesh/store';

/** The identities of callers, which travel in a header of every message of a run. */
export interface Callers {
  /** Returns the header with the identity of a caller. Works only in a gateway, which may store its public key. */
  sign(work: CallersWork, caller: Caller): Promise<Headers>;
  /**
   * Returns the caller that the headers of a message name; undefined for a run that no authenticated caller
   * began.
   *
   * @throws MeshError `permission_denied` for an identity that no gateway signed for this work
   */
  read(headers: Headers, work: CallersWork): Promise<Caller | undefined>;
}

/** Time after which a gateway stores its public key again, in ms: Redis may have lost it. */
const refreshMs = 600_000;
/** Number of public keys that a process remembers. */
const mostKeys = 100;

export function createCallers(keys: CallerKeys): Callers {
  let signer: Promise<CallerSigner> | undefined;
  let storedAt = Number.NEGATIVE_INFINITY;
  const known = new Map<string, string>();

  async function keyOf(keyId: string): Promise<string | undefined> {
    const remembered = known.get(keyId);
    if (remembered !== undefined) return remembered;
    const key = await keys.get(keyId);
    if (key === undefined) return undefined;
    if (known.size >= mostKeys) known.clear();
    known.set(keyId, key);
    return key;
  }

  return {
    async sign(work, caller) {
      signer ??= createCallerSigner();
      const { keyId, publicKey, sign } = await signer;
      if (performance.now() - storedAt > refreshMs) {
        await keys.put(keyId, publicKey);
        storedAt = performance.now();
      }
      return { [header.identity]: await sign(work, caller) };
    },

    async read(headers, work) {
      const signed = headers[header.identity];
      return signed === undefined ? undefined : await readCaller(signed, work, keyOf);
    },
  };
}

/** Returns public keys in memory, for a mesh without servers. */
export function memoryCallerKeys(): CallerKeys {
  const keys = new Map<string, string>();
  return {
    put: async (keyId, publicKey) => void keys.set(keyId, publicKey),
    get: async (keyId) => keys.get(keyId),
  };
}

import {
  type AnsweredBy,
  type AnsweringRun,
  type Caller,
  type CallersWork,
  createSigner,
  type Headers,
  header,
  readCaller,
  readSource,
  type Signer,
  signCaller,
  signSource,
  type Voucher,
} from '@agentmesh/protocol';
import type { CallerKeys } from '@agentmesh/store';

/**
 * The identities of callers, which travel in a header of every message of a run, and the sources of answers, which
 * travel in a header of the run command that has the answers.
 */
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
  /**
   * Returns the header with the source of the answers in the message of a run. Works only in a gateway, and as `agent`
   * in an agent of the app.
   *
   * @throws MeshError `permission_denied` in any other service
   */
  signSource(voucher: Voucher, run: AnsweringRun, answeredBy: AnsweredBy): Promise<Headers>;
  /**
   * Returns the source that the headers of a run command name; undefined if nobody vouches for one, or for another
   * one.
   */
  readSource(headers: Headers, run: AnsweringRun): Promise<AnsweredBy | undefined>;
}

/** Time after which a process stores its public key again, in ms: Redis may have lost it. */
const refreshMs = 600_000;
/** Number of public keys that a process remembers, and number of apps in which it remembers its own. */
const mostKeys = 100;

export function createCallers(keys: CallerKeys): Callers {
  const { signerFor, keyOf } = createKeyring(keys);
  return {
    async sign(work, caller) {
      return { [header.identity]: await signCaller(await signerFor(), work, caller) };
    },

    async read(headers, work) {
      const signed = headers[header.identity];
      return signed === undefined ? undefined : await readCaller(signed, work, (keyId) => keyOf(keyId));
    },

    async signSource(voucher, run, answeredBy) {
      const signer = await signerFor(appOf(voucher, run));
      return { [header.answeredBy]: await signSource(signer, voucher, run, answeredBy) };
    },

    async readSource(headers, run) {
      const signed = headers[header.answeredBy];
      if (signed === undefined) return undefined;
      return await readSource(signed, run, (voucher, keyId) => keyOf(keyId, appOf(voucher, run)));
    },
  };
}

/** Returns the app under which the public key of a service lies; undefined for a gateway. */
function appOf(voucher: Voucher, { appName }: AnsweringRun): string | undefined {
  return voucher === 'agent' ? appName : undefined;
}

/** Keeps the key of this process, and the public keys of others. */
function createKeyring(keys: CallerKeys) {
  let signer: Promise<Signer> | undefined;
  const storedAt = new Map<string | undefined, number>();
  const known = new Map<string, string>();
  return {
    /** Returns the signer of this process when its public key is stored. */
    async signerFor(app?: string): Promise<Signer> {
      signer ??= createSigner();
      const own = await signer;
      if (performance.now() - (storedAt.get(app) ?? Number.NEGATIVE_INFINITY) > refreshMs) {
        await keys.put(own.keyId, own.publicKey, app);
        if (storedAt.size >= mostKeys) storedAt.clear();
        storedAt.set(app, performance.now());
      }
      return own;
    },

    async keyOf(keyId: string, app?: string): Promise<string | undefined> {
      const name = JSON.stringify([app ?? null, keyId]);
      const remembered = known.get(name);
      if (remembered !== undefined) return remembered;
      const key = await keys.get(keyId, app);
      if (key === undefined) return undefined;
      if (known.size >= mostKeys) known.clear();
      known.set(name, key);
      return key;
    },
  };
}

/** Returns public keys in memory, for a mesh without servers. */
export function memoryCallerKeys(): CallerKeys {
  const keys = new Map<string, string>();
  const nameOf = (keyId: string, app: string | undefined) => JSON.stringify([app ?? null, keyId]);
  return {
    put: async (keyId, publicKey, app) => void keys.set(nameOf(keyId, app), publicKey),
    get: async (keyId, app) => keys.get(nameOf(keyId, app)),
  };
}

import { randomBytes } from 'node:crypto';
import {
  createSecretBox,
  dataKeyBox,
  hasDataKey,
  type KeyRingBox,
  type Keys,
  type KeyWrapper,
  keyRingWrapper,
  MeshError,
  type ReceiverKeys,
  receiverKeysOf,
  type SecretUse,
  shortId,
} from '@agentmesh/protocol';
import type { DataKeyOwner, DataKeys } from '@agentmesh/store';
import { answerPlace } from './answer-place.ts';

/** Number of data keys that a keeper holds in memory, so that it need not unwrap one for each request. */
const maxKept = 1_000;

export interface UserSecretsOptions {
  dataKeys: DataKeys;
  /** The master key; default: the first of `credentialKeys`. */
  keyWrapper?: KeyWrapper | undefined;
  /** The keys of `CREDENTIAL_KEYS`, which also open what was sealed without a keeper. */
  credentialKeys?: string | undefined;
}

/**
 * The secrets of users, each sealed with the data key of its user. Redis has the data keys, wrapped with the
 * master key. Without a data key all secrets of its user are lost, also in copies of Redis without that key.
 */
export class UserSecrets {
  readonly #dataKeys: DataKeys;
  readonly #wrapper: KeyWrapper;
  readonly #ring: KeyRingBox | undefined;
  /** By the wrapped form, so that a deleted or replaced data key is not used any more. */
  readonly #kept = new Map<string, Promise<Uint8Array>>();

  /** @throws MeshError `invalid_argument` as `createSecretBox`, also without any key */
  constructor({ dataKeys, credentialKeys, keyWrapper }: UserSecretsOptions) {
    this.#dataKeys = dataKeys;
    this.#wrapper = keyWrapper ?? keyRingWrapper(credentialKeys ?? '');
    this.#ring = credentialKeys === undefined ? undefined : createSecretBox(credentialKeys);
  }

  /** Seals a secret for its use. `by` is the asking service, to which a sign-in belongs. */
  async seal(text: string, use: SecretUse, by: string): Promise<string> {
    const box = dataKeyBox(await this.#dataKey(ownerOf(use)));
    return await box.seal(text, this.#placeOf(use, by));
  }

  /**
   * Opens a secret.
   *
   * @throws MeshError `permission_denied` for a secret of another use, `failed_precondition` for one whose data
   * key is gone
   */
  async open(sealed: string, use: SecretUse, by: string): Promise<string> {
    if (!hasDataKey(sealed)) return await this.#openOlder(sealed, use);
    const box = dataKeyBox(await this.#dataKey(ownerOf(use)));
    return await box.open(sealed, this.#placeOf(use, by));
  }

  /** Returns the keys by which secrets reach the keepers: all keepers have the same. */
  async receiverKeys(): Promise<ReceiverKeys> {
    return receiverKeysOf(await this.#dataKey('keepers'));
  }

  /** Opens a secret that a process with {@link UserSecretsOptions.credentialKeys} sealed itself. */
  async #openOlder(sealed: string, use: SecretUse): Promise<string> {
    if (this.#ring) return await this.#ring.open(sealed, olderPlaceOf(this.#dataKeys.keys, use));
    throw new MeshError(
      'failed_precondition',
      'a secret was sealed without a keeper: give this keeper the CREDENTIAL_KEYS of that time too',
    );
  }

  #placeOf(use: SecretUse, by: string): string {
    const place = olderPlaceOf(this.#dataKeys.keys, use);
    if (use.kind === 'sign-in') return `${place}@${by}`;
    return use.kind === 'sign-in-answer' ? `${place}@${shortId(use.key)}` : place;
  }

  async #dataKey(owner: DataKeyOwner): Promise<Uint8Array> {
    const dataKeys = this.#dataKeys;
    const place = dataKeys.placeOf(owner);
    const wrapped =
      (await dataKeys.find(owner)) ?? (await dataKeys.add(owner, await this.#wrap(randomBytes(32), place)));
    const dataKey = await this.#unwrap(wrapped, place);
    if (this.#wrapper.isCurrent?.(wrapped) === false) {
      await dataKeys.replace(owner, wrapped, await this.#wrap(dataKey, place));
    }
    return dataKey;
  }

  async #wrap(dataKey: Uint8Array, place: string): Promise<string> {
    return await this.#wrapper.wrap(dataKey, place).catch(rethrow);
  }

  #unwrap(wrapped: string, place: string): Promise<Uint8Array> {
    const id = `${place} ${wrapped}`;
    const known = this.#kept.get(id);
    if (known !== undefined) return known;
    const dataKey = this.#wrapper.unwrap(wrapped, place).catch(rethrow);
    // A failure may pass.
    dataKey.catch(() => this.#kept.delete(id));
    this.#kept.set(id, dataKey);
    const [oldest = ''] = this.#kept.keys();
    if (this.#kept.size > maxKept) this.#kept.delete(oldest);
    return dataKey;
  }
}

/** Marks a failure of a key service as one that may pass. */
function rethrow(cause: unknown): never {
  if (cause instanceof MeshError) throw cause;
  const message =
    'the key service of the keepers cannot use the master key; the log of the keeper has the reason';
  throw new MeshError('unavailable', message, { cause });
}

function ownerOf({ app: appName, user: userId }: SecretUse) {
  return { appName, userId };
}

/** Returns the place for which a process with keys seals such a secret. */
function olderPlaceOf(keys: Keys, use: SecretUse): string {
  const { app: appName, user: userId } = use;
  switch (use.kind) {
    case 'credential':
      return keys.credential(appName, userId, use.key);
    case 'answer':
      return answerPlace({ appName, userId, sessionId: use.session }, use.question);
    default: {
      const key = keys.signIn({ appName, userId, sessionId: use.at }, use.question);
      return `${key}#${use.kind === 'sign-in' ? 'sign-in' : 'answer'}`;
    }
  }
}

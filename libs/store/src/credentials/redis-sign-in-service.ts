import { randomUUID } from 'node:crypto';
import type { AuthCredential, SignInService } from '@agentmesh/agent';
import {
  type CredentialOwner,
  type KeptSignIn,
  type SignIn,
  type SignInRef,
  type SignInStatus,
  signInTtlMs,
} from '@agentmesh/agent/internal';
import { MeshError, toJson } from '@agentmesh/protocol';
import {
  answerSignInScript,
  endTurnScript,
  moveSignInScript,
  openSignInScript,
  takeTurnScript,
} from './credential-scripts.ts';
import type { SealedStore } from './redis-credential-service.ts';

/** Sign-ins in Redis: the status of each is in plain text, all else is sealed. */
export class RedisSignInService implements SignInService {
  readonly #store: SealedStore;

  constructor(store: SealedStore) {
    this.#store = store;
  }

  async open(ref: SignInRef, signIn: SignIn): Promise<SignIn> {
    const { connection, box, keys } = this.#store;
    const key = this.#keyOf(ref);
    const sealed = await box.seal(toJson(signIn, 'the sign-in'), placeOf(key, 'sign-in'));
    const sealedSignIn = await connection.script<string>(
      openSignInScript,
      [key, keys.index(ref.appName, ref.userId)],
      [sealed, signInTtlMs],
    );
    return JSON.parse(await box.open(sealedSignIn, placeOf(key, 'sign-in')));
  }

  async find(ref: SignInRef): Promise<KeptSignIn | undefined> {
    const { connection, box } = this.#store;
    const key = this.#keyOf(ref);
    const {
      'sign-in': signIn,
      status,
      answer,
      answered,
    } = await connection.run((redis) => redis.hgetall(key)).catch(noneForOthers);
    if (signIn === undefined) return undefined;
    return {
      signIn: JSON.parse(await box.open(signIn, placeOf(key, 'sign-in'))),
      status: status as SignInStatus,
      ...(answer !== undefined && { answer: JSON.parse(await box.open(answer, placeOf(key, 'answer'))) }),
      ...(answered !== undefined && { answeredAt: Number(answered) }),
    };
  }

  async answer(ref: SignInRef, answer: AuthCredential): Promise<boolean> {
    const { connection, box } = this.#store;
    const key = this.#keyOf(ref);
    const sealed = await box.seal(toJson(answer, 'the answer'), placeOf(key, 'answer'));
    return (await connection.script<number>(answerSignInScript, [key], [sealed, Date.now()])) === 1;
  }

  async move(ref: SignInRef, from: SignInStatus, to: SignInStatus): Promise<boolean> {
    const args = [from, to, randomUUID()];
    return (await this.#store.connection.script<number>(moveSignInScript, [this.#keyOf(ref)], args)) === 1;
  }

  async takeTurn(owner: CredentialOwner, key: string, holder: string, ttlMs: number): Promise<boolean> {
    const turn = this.#turnOf(owner, key);
    return (await this.#store.connection.script<number>(takeTurnScript, [turn], [holder, ttlMs])) === 1;
  }

  async endTurn(owner: CredentialOwner, key: string, holder: string): Promise<void> {
    await this.#store.connection.script(endTurnScript, [this.#turnOf(owner, key)], [holder]);
  }

  #keyOf({ questionId, ...session }: SignInRef): string {
    return this.#store.keys.signIn(session, questionId);
  }

  #turnOf({ appName, userId }: CredentialOwner, credentialKey: string): string {
    return this.#store.keys.credentialTurn(appName, userId, credentialKey);
  }
}

/** A service that may use no sign-ins has opened none. It need not know that before it looks for one. */
function noneForOthers(error: unknown): Record<string, string> {
  if (MeshError.from(error).code === 'permission_denied') return {};
  throw error;
}

function placeOf(key: string, field: string): string {
  return `${key}#${field}`;
}

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
import { MeshError, meshTime, type SecretUse, toJson } from '@agentmesh/protocol';
import {
  answerSignInScript,
  endTurnScript,
  moveSignInScript,
  openSignInScript,
  takeTurnScript,
} from './credential-scripts.ts';
import { noneWhenLost, type SealedStore } from './redis-credential-service.ts';

/** Sign-ins in Redis: the status of each is in plain text, all else is sealed. */
export class RedisSignInService implements SignInService {
  readonly #store: SealedStore;

  constructor(store: SealedStore) {
    this.#store = store;
  }

  async open(ref: SignInRef, signIn: SignIn): Promise<SignIn> {
    const { connection, box, keys } = this.#store;
    const key = this.#keyOf(ref);
    const [place, use] = [placeOf(key, 'sign-in'), useOf(ref)];
    const sealed = await box.seal(toJson(signIn, 'the sign-in'), place, use);
    const stored = await connection.script<string>(
      openSignInScript,
      [key, keys.index(ref.appName, ref.userId)],
      [sealed, signInTtlMs, signIn.isCallers ? '1' : '0'],
    );
    return stored === sealed ? signIn : JSON.parse(await box.open(stored, place, use));
  }

  async find(ref: SignInRef, isCallers = false): Promise<KeptSignIn | undefined> {
    const { box } = this.#store;
    const key = this.#keyOf(ref);
    const { 'sign-in': sealed, status, callers, answer, answered } = await this.#fieldsOf(ref);
    // The other side's sign-in is not for this process, and a keeper would not open it.
    if (sealed === undefined || (callers === '1') !== isCallers) return undefined;
    const text = await box.open(sealed, placeOf(key, 'sign-in'), useOf(ref)).catch(noneWhenLost);
    if (text === undefined) return undefined;
    const signIn: SignIn = JSON.parse(text);
    const { credentialKey } = signIn.authConfig;
    return {
      signIn,
      status: status as SignInStatus,
      ...(answer !== undefined && {
        answer: JSON.parse(await box.open(answer, placeOf(key, 'answer'), answerUseOf(ref, credentialKey))),
      }),
      ...(answered !== undefined && { answeredAt: Number(answered) }),
    };
  }

  async statusOf(ref: SignInRef): Promise<SignInStatus | undefined> {
    return (await this.#fieldsOf(ref)).status as SignInStatus | undefined;
  }

  async answer(ref: SignInRef, answer: AuthCredential, credentialKey: string): Promise<boolean> {
    const { connection, box } = this.#store;
    const key = this.#keyOf(ref);
    const use = answerUseOf(ref, credentialKey);
    const sealed = await box.seal(toJson(answer, 'the answer'), placeOf(key, 'answer'), use);
    return (await connection.script<number>(answerSignInScript, [key], [sealed, meshTime()])) === 1;
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

  async #fieldsOf(ref: SignInRef): Promise<Record<string, string>> {
    const key = this.#keyOf(ref);
    return await this.#store.connection.run((redis) => redis.hgetall(key)).catch(noneForOthers);
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

function useOf(ref: SignInRef): Extract<SecretUse, { kind: 'sign-in' }> {
  const {
    appName: app,
    userId: user,
    sessionId: at,
    homeSessionId: session = at,
    questionId: question,
  } = ref;
  return { kind: 'sign-in', app, user, session, at, question };
}

function answerUseOf(ref: SignInRef, key: string): SecretUse {
  return { ...useOf(ref), kind: 'sign-in-answer', key };
}

import { assertOptions } from '@agentmesh/protocol';
import type { AuthCredential } from './auth-config.ts';
import type { CredentialOwner } from './credential-service.ts';
import {
  type KeptSignIn,
  type SignIn,
  type SignInRef,
  type SignInService,
  type SignInStatus,
  signInTtlMs,
} from './sign-in-service.ts';

/** A sign-in service in the memory of this process. */
export class InMemorySignInService implements SignInService {
  readonly #signIns = new Map<string, KeptSignIn & { until: number }>();
  readonly #turns = new Map<string, { holder: string; until: number }>();

  /** @throws MeshError `invalid_argument` for any option, as there are none */
  constructor(options: Record<string, never> = {}) {
    assertOptions('an InMemorySignInService', options, {}, { isOpen: new.target !== InMemorySignInService });
  }

  async open(ref: SignInRef, signIn: SignIn): Promise<SignIn> {
    for (const [key, { until }] of this.#signIns) if (until <= Date.now()) this.#signIns.delete(key);
    const entry = this.#find(ref);
    if (entry) return structuredClone(entry.signIn);
    const until = Date.now() + signInTtlMs;
    this.#signIns.set(keyOf(ref), { signIn: structuredClone(signIn), status: 'asked', until });
    return signIn;
  }

  async find(ref: SignInRef, isCallers = false): Promise<KeptSignIn | undefined> {
    const entry = this.#find(ref);
    if (!entry || (entry.signIn.isCallers ?? false) !== isCallers) return undefined;
    const { until: _until, ...storedSignIn } = entry;
    return structuredClone(storedSignIn);
  }

  async statusOf(ref: SignInRef): Promise<SignInStatus | undefined> {
    return this.#find(ref)?.status;
  }

  async answer(ref: SignInRef, answer: AuthCredential): Promise<boolean> {
    const entry = this.#find(ref);
    if (!entry || (entry.status !== 'asked' && entry.status !== 'answered')) return false;
    Object.assign(entry, { status: 'answered', answer: structuredClone(answer), answeredAt: Date.now() });
    return true;
  }

  async move(ref: SignInRef, from: SignInStatus, to: SignInStatus): Promise<boolean> {
    const entry = this.#find(ref);
    if (entry?.status !== from) return false;
    entry.status = to;
    if (to === 'closed') delete entry.answer;
    return true;
  }

  async takeTurn(owner: CredentialOwner, key: string, holder: string, ttlMs: number): Promise<boolean> {
    const turn = this.#turns.get(turnOf(owner, key));
    if (turn && turn.holder !== holder && turn.until > Date.now()) return false;
    this.#turns.set(turnOf(owner, key), { holder, until: Date.now() + ttlMs });
    return true;
  }

  async endTurn(owner: CredentialOwner, key: string, holder: string): Promise<void> {
    if (this.#turns.get(turnOf(owner, key))?.holder === holder) this.#turns.delete(turnOf(owner, key));
  }

  #find(ref: SignInRef) {
    const entry = this.#signIns.get(keyOf(ref));
    return entry && entry.until > Date.now() ? entry : undefined;
  }
}

function keyOf({ appName, userId, sessionId, questionId }: SignInRef): string {
  return JSON.stringify([appName, userId, sessionId, questionId]);
}

function turnOf({ appName, userId }: CredentialOwner, credentialKey: string): string {
  return JSON.stringify([appName, userId, credentialKey]);
}

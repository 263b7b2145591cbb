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

/** Sign-ins in this process, gone with it. */
export class InMemorySignInService implements SignInService {
  readonly #signIns = new Map<string, KeptSignIn & { until: number }>();
  readonly #turns = new Map<string, { holder: string; until: number }>();

  /** @throws MeshError `invalid_argument` for any option: there are none */
  constructor(options: Record<string, never> = {}) {
    assertOptions('an InMemorySignInService', options, {}, { isOpen: new.target !== InMemorySignInService });
  }

  async open(ref: SignInRef, signIn: SignIn): Promise<SignIn> {
    for (const [key, { until }] of this.#signIns) if (until <= Date.now()) this.#signIns.delete(key);
    const known = this.#find(ref);
    if (known) return structuredClone(known.signIn);
    const until = Date.now() + signInTtlMs;
    this.#signIns.set(keyOf(ref), { signIn: structuredClone(signIn), status: 'asked', until });
    return signIn;
  }

  async find(ref: SignInRef): Promise<KeptSignIn | undefined> {
    const known = this.#find(ref);
    if (!known) return undefined;
    const { until: _until, ...kept } = known;
    return structuredClone(kept);
  }

  async answer(ref: SignInRef, answer: AuthCredential): Promise<boolean> {
    const known = this.#find(ref);
    if (!known || (known.status !== 'asked' && known.status !== 'answered')) return false;
    Object.assign(known, { status: 'answered', answer: structuredClone(answer), answeredAt: Date.now() });
    return true;
  }

  async move(ref: SignInRef, from: SignInStatus, to: SignInStatus): Promise<boolean> {
    const known = this.#find(ref);
    if (known?.status !== from) return false;
    known.status = to;
    if (to === 'closed') delete known.answer;
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
    const known = this.#signIns.get(keyOf(ref));
    return known && known.until > Date.now() ? known : undefined;
  }
}

function keyOf({ appName, userId, sessionId, questionId }: SignInRef): string {
  return JSON.stringify([appName, userId, sessionId, questionId]);
}

function turnOf({ appName, userId }: CredentialOwner, credentialKey: string): string {
  return JSON.stringify([appName, userId, credentialKey]);
}

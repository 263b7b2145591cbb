import type { SessionRef } from '@agentmesh/protocol';
import type { AuthConfig, AuthCredential } from './auth-config.ts';
import type { CredentialOwner } from './credential-service.ts';

/** The question that asks a person for a credential. */
export interface SignInRef extends SessionRef {
  questionId: string;
}

/** What the end of a sign-in needs, from its question on. Secret: it holds the client's secret and the PKCE verifier. */
export interface SignIn {
  /** As the tool gave it. */
  authConfig: AuthConfig;
  /** Where the person signs in. Absent for a key that is typed in. */
  authUri?: string;
  /** Must come back with the person (RFC 6749 §10.12). */
  state?: string;
  /** Shows that who redeems the code is who asked for it (RFC 7636). */
  codeVerifier?: string;
  /** Must be in the ID token. */
  nonce?: string;
  /** A callback of the calling agent asked, for a tool that runs elsewhere: the credential is the agent's, and not the tool's. */
  isCallers?: boolean;
}

/** `taken`: its code is being redeemed, or was when a process died; a code is sent once. `closed`: the answer was used, or refused. */
export type SignInStatus = 'asked' | 'answered' | 'taken' | 'closed';

export interface KeptSignIn {
  signIn: SignIn;
  status: SignInStatus;
  /** What the person gave; gone when it is closed. */
  answer?: AuthCredential;
  /** When, in epoch ms. */
  answeredAt?: number;
}

/** How long a sign-in is kept from its question on, in ms: one day. Whoever answers later is asked again. */
export const signInTtlMs = 86_400_000;

/** Keeps sign-ins from the question to the call that is made again, in whatever process. */
export interface SignInService {
  /** Keeps a sign-in that is about to be asked for. The one that is there wins, as a person may have been asked for it: returns that. */
  open(ref: SignInRef, signIn: SignIn): Promise<SignIn>;
  find(ref: SignInRef): Promise<KeptSignIn | undefined>;
  /** Keeps an answer, in the place of one that nobody has used yet. False: nothing waits for it. */
  answer(ref: SignInRef, answer: AuthCredential): Promise<boolean>;
  /** Goes from one status to another; false when it is not in the first. One of many who try succeeds. */
  move(ref: SignInRef, from: SignInStatus, to: SignInStatus): Promise<boolean>;
  /**
   * Gives one holder the right to renew a credential, for `ttlMs`: a refresh token may be good for one use only. Again with the same holder, it
   * prolongs it.
   */
  takeTurn(owner: CredentialOwner, credentialKey: string, holder: string, ttlMs: number): Promise<boolean>;
  /** Gives the right back; no-op for that of another. */
  endTurn(owner: CredentialOwner, credentialKey: string, holder: string): Promise<void>;
}

import type { SessionRef } from '@agentmesh/protocol';
import type { AuthConfig, AuthCredential } from './auth-config.ts';
import type { CredentialOwner } from './credential-service.ts';

/** The id of the question for a credential. */
export interface SignInRef extends SessionRef {
  questionId: string;
  /** The session of the run in which the sign-in is used; default: the session of the question. */
  homeSessionId?: string;
}

/**
 * The data that completes a sign-in, stored from the question on. It is secret: it holds the client's secret
 * and the PKCE verifier.
 */
export interface SignIn {
  /** The configuration as the tool gave it. */
  authConfig: AuthConfig;
  /** The address at which the person signs in. Absent for a key that is entered by hand. */
  authUri?: string;
  /** The state that the redirect must return (RFC 6749 §10.12). */
  state?: string;
  /** The verifier that proves that the code is redeemed by its requester (RFC 7636). */
  codeVerifier?: string;
  /** The nonce that the ID token must hold. */
  nonce?: string;
  /**
   * True when a callback of the calling agent asked, for a tool of another process. The credential belongs to
   * the agent then, not to the tool.
   */
  isCallers?: boolean;
}

/**
 * `taken`: a process redeems the code, or died while doing so; a code is sent only once. `closed`: the answer
 * was used or refused.
 */
export type SignInStatus = 'asked' | 'answered' | 'taken' | 'closed';

export interface KeptSignIn {
  signIn: SignIn;
  status: SignInStatus;
  /** The person's answer; deleted when the sign-in is closed. */
  answer?: AuthCredential;
  /** Time of the answer, epoch ms. */
  answeredAt?: number;
}

/**
 * Time for which a sign-in is stored after its question, in ms: one day. A person who answers later is asked
 * again.
 */
export const signInTtlMs = 86_400_000;

/** A store of sign-ins, from the question to the repeated call, which may run in another process. */
export interface SignInService {
  /**
   * Saves a sign-in before its question is asked. An existing sign-in stays and is returned, because a person
   * may have been asked for it already.
   */
  open(ref: SignInRef, signIn: SignIn): Promise<SignIn>;
  /**
   * Finds the sign-in of a tool, or with `isCallers` that of the calling agent; undefined for that of the other
   * one, whose secrets this process need not see.
   */
  find(ref: SignInRef, isCallers?: boolean): Promise<KeptSignIn | undefined>;
  /** Returns the status of a sign-in of any side, without its secrets. */
  statusOf(ref: SignInRef): Promise<SignInStatus | undefined>;
  /**
   * Saves an answer in place of an earlier unused one. Returns false when no sign-in waits for an answer.
   *
   * @param credentialKey the credential key of the question
   */
  answer(ref: SignInRef, answer: AuthCredential, credentialKey: string): Promise<boolean>;
  /**
   * Changes the status. Returns false when the current status is not `from`. Of several concurrent callers
   * only one succeeds.
   */
  move(ref: SignInRef, from: SignInStatus, to: SignInStatus): Promise<boolean>;
  /**
   * Gives one holder the right to renew a credential, for `ttlMs`, because a refresh token may be valid for
   * one use only. A repeated call of the same holder extends the time.
   */
  takeTurn(owner: CredentialOwner, credentialKey: string, holder: string, ttlMs: number): Promise<boolean>;
  /** Gives the right back; does nothing when another holder has it. */
  endTurn(owner: CredentialOwner, credentialKey: string, holder: string): Promise<void>;
}

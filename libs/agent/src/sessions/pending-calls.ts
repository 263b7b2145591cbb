import { MeshError, type SessionRef } from '@agentmesh/protocol';
import type { RunId } from '../events/run-ids.ts';
import type { PendingCall } from './derive-pending.ts';

/** Which call is meant. */
export interface CallRef extends SessionRef {
  callId: string;
}

/** Who claims the right to answer a call, and with what. */
export interface AnswerClaim {
  /** Identifies the message that answers: the same when it is delivered again. */
  key: string;
  /** Fingerprint of the answer; see `answerDigest`. */
  digest: string;
  /** The run that will take the answer in: when it ends without having done so, the call may be answered again. */
  run?: RunId;
  /** The invocations that may answer the call themselves as long as they are at work: the one that called, and the one that began its work anew. */
  callers: readonly string[];
}

/**
 * How it stands with a call that somebody wants to answer:
 * - `accepted`: the claim has it now; `repeated`: it had it before.
 * - `busy`: the invocation that made the call, or began its work anew, is still going on, and may answer it itself; ask again later.
 * - `duplicate`: it has this very answer; `answered`: it has another one, by whom.
 * - `unknown`: nothing of this id waits in the session, or ever did.
 */
export type AnswerState =
  | { state: 'accepted' | 'repeated' | 'busy' | 'duplicate' | 'unknown' }
  | { state: 'answered'; by: 'agent' | 'user' };

/** The calls that wait for an answer from outside: derived from the events, in the same commit as they are. */
export interface PendingCalls {
  /** Lists the calls that wait: of one session, or of all sessions of the user, hidden ones included; oldest first. */
  list(request: { appName: string; userId: string; sessionId?: string }): Promise<PendingCall[]>;

  /** Reads a call as long as it waits. */
  get(ref: CallRef): Promise<PendingCall | undefined>;

  /** Lists the sessions in which a call of this id was left open: one, as ids are unique, for 90 days, and a day after its answer. */
  sessionsAsking(callId: string): Promise<SessionRef[]>;

  /** Claims the right to give a call its answer, once: of many answers that come at the same time one is accepted. */
  accept(ref: CallRef, claim: AnswerClaim): Promise<AnswerState>;

  /** Tells whether the message of this key claimed the call. */
  isClaimedBy(ref: CallRef, key: string): Promise<boolean>;

  /** Gives a claim up whose answer cannot be given: the call may be answered again. */
  release(ref: CallRef, key: string): Promise<void>;

  /** Tells whether a call waits, was answered (in the log: a claim alone is no answer), or is unknown. */
  stateOf(ref: CallRef): Promise<'open' | 'answered' | 'unknown'>;

  /**
   * Notes how far a call's work is, by a number that its worker counts up. False for what comes later than something newer; the same number
   * again is not.
   */
  noteProgress(ref: CallRef, seq: number): Promise<boolean>;

  /** Lists the calls made by a service whose deadline is over, those that are longest overdue first. */
  overdue(service: string, limit: number): Promise<CallRef[]>;

  /** Makes a call overdue again at that time, epoch ms: it cannot have its outcome now. */
  postponeDeadline(service: string, ref: CallRef, until: number): Promise<void>;

  /** Ends the deadline of a call that has got its outcome, or is gone. */
  forgetDeadline(service: string, ref: CallRef): Promise<void>;
}

/** The error for an answer to a call that waits no longer. */
export function hasAnswer(callId: string): MeshError {
  return new MeshError('failed_precondition', `call ${callId} was answered before; an answer counts once`);
}

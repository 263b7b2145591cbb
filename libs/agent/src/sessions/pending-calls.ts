import { MeshError, type SessionRef } from '@agentmesh/protocol';
import type { RunId } from '../events/run-ids.ts';
import type { PendingCall } from './derive-pending.ts';

/** The name of a pending call. */
export interface CallRef extends SessionRef {
  callId: string;
}

/** A reservation of the right to answer a call. */
export interface AnswerReservation {
  /** Id of the answering message; the same when the message is delivered again. */
  key: string;
  /** Fingerprint of the answer; see `answerDigest`. */
  digest: string;
  /** The run that will commit the answer. When it ends without doing so, the call may be answered again. */
  run?: RunId;
  /**
   * The invocations that may answer the call themselves while they run: the invocation that made the call,
   * and the invocation that started its work again.
   */
  callers: readonly string[];
}

/**
 * The result of {@link PendingCalls.accept}:
 * - `accepted`: the reservation is made; `repeated`: it was made before.
 * - `busy`: an invocation of `callers` is still running and may answer the call itself; ask again later.
 * - `duplicate`: the call has the same answer already; `answered`: the call has another answer, given by
 *   `by`.
 * - `unknown`: no call with this id is or was pending in the session.
 */
export type AnswerState =
  | { state: 'accepted' | 'repeated' | 'busy' | 'duplicate' | 'unknown' }
  | { state: 'answered'; by: 'agent' | 'user' };

/**
 * The calls that wait for an answer from outside. They follow from the events, and change in the same commit.
 */
export interface PendingCalls {
  /**
   * Lists the pending calls of one session, or of all sessions of the user including child sessions; oldest
   * first.
   */
  list(request: { appName: string; userId: string; sessionId?: string }): Promise<PendingCall[]>;

  /** Lists the pending calls of a tool in all sessions of a user, including child sessions. Changes nothing. */
  ofTool(user: { appName: string; userId: string }, tool: string): Promise<PendingCall[]>;

  /** Returns a call while it is pending. */
  get(ref: CallRef): Promise<PendingCall | undefined>;

  /**
   * Lists the sessions in which a call with this id was left pending: only one, as ids are unique. Entries
   * last for 90 days, and one day after the answer.
   */
  sessionsAsking(callId: string): Promise<SessionRef[]>;

  /** Reserves the right to answer a call. Of several concurrent answers one is accepted. */
  accept(ref: CallRef, reservation: AnswerReservation): Promise<AnswerState>;

  /** Tells whether the message with this key has reserved the answer. */
  isReservedBy(ref: CallRef, key: string): Promise<boolean>;

  /** Gives up a reservation whose answer cannot be committed, so that the call may be answered again. */
  release(ref: CallRef, key: string): Promise<void>;

  /** Tells whether a call is pending, answered (in the log: a reservation is not an answer), or unknown. */
  stateOf(ref: CallRef): Promise<'open' | 'answered' | 'unknown'>;

  /**
   * Records the progress of a call's work, by a number that its worker counts up. Returns false for a number
   * lower than the recorded number; the same number again is fine.
   */
  noteProgress(ref: CallRef, seq: number): Promise<boolean>;

  /** Lists the calls of a service that are past their deadline, the most overdue calls first. */
  overdue(service: string, limit: number): Promise<CallRef[]>;

  /** Makes a call overdue again at a later time (epoch ms), because it cannot have its outcome now. */
  postponeDeadline(service: string, ref: CallRef, until: number): Promise<void>;

  /** Removes the deadline of a call that has its outcome, or is gone. */
  forgetDeadline(service: string, ref: CallRef): Promise<void>;
}

/** Makes the error for an answer to a call that is not pending any more. */
export function callAnsweredError(callId: string): MeshError {
  return new MeshError('failed_precondition', `call ${callId} was answered before; an answer counts once`);
}

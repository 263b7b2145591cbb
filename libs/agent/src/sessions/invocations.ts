import { MeshError, type SessionRef } from '@agentmesh/protocol';

/** The name of an invocation, in the user scope of its session. */
export interface InvocationRef extends SessionRef {
  invocationId: string;
  /** Id of the run, for a run that continues the invocation; absent for the run that began it. */
  resume?: string | undefined;
}

/** One attempt at a part of an invocation: an ask or a step is sent again when its callee is silent. */
export interface Attempt {
  part: string;
  /** From 1. */
  number: number;
}

/** The end of a run. A failure has an error code of the mesh and a message; of a cancelled run it is `cancelled`. */
export interface RunEnd {
  status: 'completed' | 'failed';
  error?: { code: string; message: string };
}

/** The end of a run, with the facts that decide about the invocation's record. */
export interface RunEnding extends RunEnd {
  /** True when the run did nothing: the invocation's record becomes what it was before the run. */
  refused?: boolean;
  /**
   * True when calls of the run wait for an answer from outside. The record is then kept as long as the record
   * of a running invocation.
   */
  waits?: boolean;
}

/** Returns the part of an ending that is recorded. */
export function recordedEnd({ status, error }: RunEnding): RunEnd {
  return { status, ...(error && { error }) };
}

/** The record of one invocation beside its events. */
export interface InvocationRecord {
  /** Id of the session that a run of the invocation took or waits for; absent for an invocation without runs. */
  home?: string;
  /** For a continued invocation: the status of the last continuing run. */
  status: 'running' | 'completed' | 'failed';
  /** The last run that continued the invocation; absent if there is none. */
  resume?: string;
  /**
   * The ends of the invocation's runs, by the `resume` of each run; by '' for the first run. Absent until a
   * run wants to continue the invocation: see {@link endOfRun}.
   */
  ends?: ReadonlyMap<string, RunEnd>;
  /** `temp:` state, keys with their prefix. */
  temp: Record<string, unknown>;
  llmCalls: number;
  /**
   * Tokens of the committed answers, prompt and answer together (`usageMetadata.totalTokenCount`), over all
   * its sessions.
   */
  tokens: number;
  /** Reason of a cancellation; see {@link Invocations.cancel}. */
  cancelled?: string;
  /** The failure: an error code of the mesh and its message. */
  error?: { code: string; message: string };
}

/** An invocation one of whose runs has ended, and the session that this run may have freed. */
export interface EndedInvocation extends InvocationRecord {
  /** Number of the last event of the session; 0 for a session that is gone. No event of the run follows it. */
  lastSeq: number;
  /**
   * True if no run has the session or waits for it, and no run of the user waits for a free session: there is no
   * run to start.
   */
  isIdle: boolean;
}

/** The number of model calls that a commit counts together with its event. */
export interface CallCount {
  /** Model calls that the store does not know; a commit counts them and sets this to what is left. */
  uncounted: number;
  /** The number of model calls of the invocation in the store, over all its processes, as last seen. */
  counted: number;
}

/** The end of a run, which a commit records in the same step as the run's last event. */
export interface EndingCommit {
  resume?: string | undefined;
  as: RunEnding;
  /** Set by the commit: see {@link EndedInvocation}. */
  isIdle?: boolean;
}

/** Returns the error of an attempt at a part that was closed. */
export function closedPartError(): MeshError {
  return new MeshError('cancelled', 'its caller has given this ask up');
}

/** The services that work for the run that has a session. */
export interface SessionWork {
  invocationId: string;
  /** The agent whose service took the session last; absent when it did not say its name. */
  agent?: string;
  /** The parts of the invocation that were begun and not closed. */
  parts: readonly string[];
  /** The tools in other processes that work on calls of the invocation, each once. */
  tools: readonly string[];
}

/** The records of invocations, shared by all processes that work on an invocation. */
export interface Invocations {
  /**
   * Reads the invocation's record. For an invocation without a record the result is the record of a running
   * invocation that has done nothing.
   */
  get(ref: InvocationRef): Promise<InvocationRecord>;

  /**
   * Begins an attempt at a part of the invocation; the caller chooses the part's name. Earlier attempts at
   * this part can commit nothing more.
   *
   * @throws MeshError `cancelled` for a part that was closed
   */
  beginAttempt(ref: InvocationRef, part: string): Promise<Attempt>;

  /** Closes a part of the invocation for good: attempts at it can commit nothing more, and none begins. */
  closePart(ref: InvocationRef, part: string): Promise<void>;

  /**
   * Notes that a tool in another process works on a call, before the tool gets the call. The note is gone after
   * {@link dropCall}, and with the record of the invocation.
   */
  noteCall(ref: InvocationRef, call: { id: string; tool: string }): Promise<void>;

  /** Removes the note of a call: nobody waits for its result any more, or the result is there. */
  dropCall(ref: InvocationRef, id: string): Promise<void>;

  /** Returns the work for the run that has a session now; undefined while no run has it. Changes nothing. */
  workIn(ref: SessionRef): Promise<SessionWork | undefined>;

  /**
   * Counts one model call of the invocation and returns the new total over all its processes.
   *
   * @throws MeshError `aborted` for an old token, as `appendEvent` does
   */
  countLlmCall(ref: InvocationRef, token?: number): Promise<number>;

  /**
   * Cancels an invocation: a caller that takes or renews the invocation's lease gets the reason. The waiting
   * runs of the invocation, including runs that would continue it, leave the queue and end now as failed with
   * the code `cancelled`. With `ref.resume` only that run is cancelled. An ended invocation stays as it is.
   * Returns undefined for an invocation that has not begun in this session and does not wait in the session's
   * queue. With `untaken`, an invocation of which nothing is known is ended too, so that its run never begins; and so
   * is the run `ref.resume` that would continue an invocation.
   */
  cancel(
    ref: InvocationRef,
    reason: string,
    options?: { untaken?: boolean },
  ): Promise<InvocationRecord | undefined>;

  /**
   * Records the end of the run that the ref names, and frees the session. The first end of a run stays: a
   * second call changes nothing.
   *
   * @throws MeshError `aborted` for an old token, as `appendEvent` does
   */
  end(ref: InvocationRef, end: RunEnding, token?: number): Promise<EndedInvocation>;
}

/** Returns the status of a record as people read it: a failure with the code `cancelled` is `cancelled`. */
export function statusOfRecord({
  status,
  error,
}: Pick<InvocationRecord, 'status' | 'error'>): InvocationRecord['status'] | 'cancelled' {
  return status === 'failed' && error?.code === 'cancelled' ? 'cancelled' : status;
}

/** Returns the end of a run of an invocation; undefined while it runs. */
export function endOfRun(record: InvocationRecord, resume?: string): RunEnd | undefined {
  if (record.ends) return record.ends.get(resume ?? '');
  const { status, error } = record;
  if (resume !== undefined || status === 'running') return undefined;
  return { status, ...(error && { error }) };
}

/**
 * Makes the error for a commit of an attempt that is not the newest at its part. A caller that waits for this
 * attempt may ask once more: a late request has fenced off the attempt that it believes to be the newest.
 */
export function newerAttemptError(): MeshError {
  return new MeshError('aborted', 'another attempt at this ask has taken over', {
    details: { reason: askedAgainReason },
  });
}

export const askedAgainReason = 'asked_again';

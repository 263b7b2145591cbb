import { MeshError, type SessionRef } from '@agentmesh/protocol';

/** Names an invocation in its session's user scope. */
export interface InvocationRef extends SessionRef {
  invocationId: string;
  /** Which of its runs is meant, where that matters: the one that continues it by this id; absent, the one that began it. */
  resume?: string | undefined;
}

/** One of several tries at a part of an invocation: an ask, or a step, that was sent again when its callee fell silent. */
export interface Attempt {
  part: string;
  /** From 1. */
  number: number;
}

/** How a run ended; why it failed is an error code of the mesh and its message. */
export interface RunEnd {
  status: 'completed' | 'failed';
  error?: { code: string; message: string };
}

/** How a run ends. */
export interface RunEnding extends RunEnd {
  /** It had not done anything: the invocation is as it was before, also where it was begun to be continued. */
  refused?: boolean;
  /** Calls of it wait for an answer from outside: its record is kept as long as that of one at work, for whoever continues it. */
  waits?: boolean;
}

/** The record of one invocation beside its events, for whoever continues it. */
export interface InvocationRecord {
  /** Of a continued one: how it stands with the run that continued it last. */
  status: 'running' | 'completed' | 'failed';
  /** The run that continued it last; absent before one did. */
  resume?: string;
  /** How its runs ended, by their `resume`; the first one's by ''. Absent before anybody wanted to continue it: see {@link endOfRun}. */
  ends?: ReadonlyMap<string, RunEnd>;
  /** `temp:` state, keys with their prefix. */
  temp: Record<string, unknown>;
  llmCalls: number;
  /** Tokens of the answers that were committed, in and out (`usageMetadata.totalTokenCount`), over all its sessions. */
  tokens: number;
  /** Why somebody wants it to end; see {@link Invocations.cancel}. */
  cancelled?: string;
  /** Why it failed: an error code of the mesh and its message. */
  error?: { code: string; message: string };
}

/** The records of invocations: one for all processes that work on an invocation. */
export interface Invocations {
  /** Reads the invocation's record; an invocation without one has the record of a running one that did nothing yet. */
  get(ref: InvocationRef): Promise<InvocationRecord>;

  /** Begins an attempt at a part of the invocation, by any name: earlier ones at it can commit nothing more. */
  beginAttempt(ref: InvocationRef, part: string): Promise<Attempt>;

  /**
   * Counts one model call of the invocation and returns the new total: one counter for all its processes.
   *
   * @throws MeshError `aborted` for an old token, as `appendEvent` does
   */
  countLlmCall(ref: InvocationRef, token?: number): Promise<number>;

  /**
   * Marks that the invocation shall end: whoever takes or renews its lease is told. Its runs that wait in the queue, those that would continue it
   * too, are taken out and end now, as failed with the code `cancelled`; with `ref.resume` that goes for this run alone. One that has ended stays
   * as it is. Undefined for one that has neither begun in this session nor waits in its queue.
   */
  cancel(ref: InvocationRef, reason: string): Promise<InvocationRecord | undefined>;

  /**
   * Marks the end of the run that the ref names, and frees the session. The first end of a run stays: a second call changes nothing. Returns the
   * record of the invocation as it then is.
   *
   * @throws MeshError `aborted` for an old token, as `appendEvent` does
   */
  end(ref: InvocationRef, end: RunEnding, token?: number): Promise<InvocationRecord>;
}

/** Finds how a run of an invocation ended; undefined as long as it has not. */
export function endOfRun(record: InvocationRecord, resume?: string): RunEnd | undefined {
  if (record.ends) return record.ends.get(resume ?? '');
  const { status, error } = record;
  if (resume !== undefined || status === 'running') return undefined;
  return { status, ...(error && { error }) };
}

/**
 * The error for a commit of an attempt that is not the newest at its part. Whoever waits for this attempt may ask once more: a request that
 * was late has fenced off the one that it believes to be the newest.
 */
export function askedAgain(): MeshError {
  return new MeshError('aborted', 'another attempt at this ask has taken over', {
    details: { reason: askedAgainReason },
  });
}

export const askedAgainReason = 'asked_again';

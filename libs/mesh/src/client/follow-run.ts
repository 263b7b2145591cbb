import {
  endOfRun,
  type InvocationRecord,
  type InvocationRef,
  isFailure,
  messageEventId,
  noSession,
  runKey,
  statusOfRecord,
} from '@agentmesh/agent/internal';
import { assertOptions, type InvocationEnd, MeshError, type OptionNames } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { isBlank } from '../messages/assert-there.ts';
import { findBackwards } from '../messages/find-event.ts';
import type { LoggedEvent, OutlineOptions } from '../messages/read-log.ts';
import { LogReader, type NumberedEvent } from './log-reader.ts';
import { watchInvocation } from './watch-run.ts';

/** The state of an invocation. */
export interface InvocationState {
  invocationId: string;
  /**
   * The requested run, or else the last run that continued the invocation; absent when no run continued it.
   */
  resume?: string;
  /**
   * The status of the run `resume`; without `resume`, of the invocation. `waiting`: other runs of the session
   * come first, or the first event is not committed yet. `cancelled`: it ended because somebody cancelled it.
   */
  status: InvocationRecord['status'] | 'waiting' | 'cancelled';
  /** Model calls whose answers are committed, so far; absent when the record is not kept any more. */
  llmCalls?: number;
  /** Number of the invocation's last event in the session, so far; 0 without any. */
  lastSeq: number;
  /** The reason for which the invocation failed or was cancelled. */
  error?: { code: string; message: string };
  /** The reason of a cancellation. */
  cancelled?: string;
}

/**
 * Reads the state of an invocation of a session, or of a run that continues it (`ref.resume`). An invocation
 * that no replica has taken yet leaves no trace, so the error is `not_found`, as for an invocation that never
 * existed. The error is the same for a continuing run that has not begun.
 *
 * @throws MeshError `not_found` for an unknown session or invocation
 */
export async function readInvocation(mesh: Mesh, ref: InvocationRef): Promise<InvocationState> {
  return (await readState(mesh, ref)).state;
}

export interface FollowOptions extends OutlineOptions {
  /**
   * Number of the last event of the session that the caller knows; default 0: all events of the invocation
   * are returned.
   */
  afterSeq?: number;
  /** Stops following at once; the run itself goes on. */
  signal?: AbortSignal;
}

const optionNames: OptionNames<FollowOptions> = { afterSeq: true, signal: true, outlineAbove: true };

/** A run that a client follows again. */
export interface FollowedRun {
  /** The state of the run when the client came back. */
  state: InvocationState;
  /**
   * The events as in a {@link StartedRun}, from `afterSeq` on. Pieces that were streamed before are not
   * repeated.
   */
  numbered: AsyncIterable<NumberedEvent>;
  /** The end of the run; settles after `numbered` has ended. */
  end: Promise<InvocationEnd>;
}

/**
 * Follows a run that was started anywhere, at any time: yields the events that were committed after
 * `afterSeq`, and goes on until the end.
 *
 * @throws MeshError `not_found` as {@link readInvocation}; `invalid_argument` for an `afterSeq` beyond the
 * end of the session
 */
export async function followRun(
  mesh: Mesh,
  ref: InvocationRef,
  options: FollowOptions = {},
): Promise<FollowedRun> {
  assertOptions('followRun', options, optionNames);
  const { afterSeq = 0, signal, outlineAbove } = options;
  const { state, sessionSeq, messageSeq } = await readState(mesh, ref);
  if (afterSeq > sessionSeq) {
    throw new MeshError(
      'invalid_argument',
      `session ${ref.sessionId} has ${sessionSeq} events, so no event ${afterSeq} can be known; give the id of the last event that came from it, or none`,
    );
  }
  const { status, lastSeq, error, resume } = state;
  const from = status === 'waiting' ? sessionSeq : Math.max(afterSeq, messageSeq);
  if (hasEnded(status)) {
    const numbered = new LogReader(mesh, ref, { afterSeq: from, signal, outlineAbove }).read(lastSeq);
    const end: InvocationEnd = {
      status: status === 'completed' ? status : 'failed',
      lastSeq,
      ...(error && { error }),
    };
    return { state, numbered, end: Promise.resolve(end) };
  }
  const watched = { afterSeq: from, catchUp: true, signal, outlineAbove };
  const watch = await watchInvocation(mesh, { ...ref, resume }, watched);
  return { state, numbered: watch.events, end: watch.end };
}

interface ReadState {
  state: InvocationState;
  /** Number of the session's last event. */
  sessionSeq: number;
  /** Number of the message event of the requested run; 0 if the whole invocation was requested. */
  messageSeq: number;
}

/** @param hasEvent true when the log is known to hold an event of the invocation */
async function readState(mesh: Mesh, ref: InvocationRef, hasEvent = false): Promise<ReadState> {
  // The order matters: the record is read first, so if it says that the run has ended, the log holds all its
  // events.
  const record = recordFor(ref, await mesh.sessions.invocations.get(ref));
  const session = await mesh.sessions.leases.look(ref);
  if (!session) throw noSession(ref);
  const { invocationId, resume = record.resume } = ref;
  const isOfInvocation = ({ event }: LoggedEvent) => event.invocationId === invocationId;
  const isMessage = ({ event }: LoggedEvent) => event.id === messageEventId(ref, ref.sessionId);
  const messageEvent =
    ref.resume === undefined ? undefined : await findBackwards(mesh, ref, session.seq, isMessage);
  const lastEvent =
    ref.resume === undefined || messageEvent
      ? await findBackwards(mesh, ref, session.seq, isOfInvocation)
      : undefined;
  // The run may have begun between the two reads.
  if (lastEvent && !hasEvent && isBlank(record)) return await readState(mesh, ref, true);
  const waits = !lastEvent && isWaiting(record, ref);
  if (!lastEvent && !waits && !neverBegan(record)) {
    throw new MeshError(
      'not_found',
      `session ${ref.sessionId} has nothing of an invocation ${runKey(ref)}; if it was accepted a moment ago it has not begun: ask again`,
    );
  }
  const lastSeq = lastEvent?.seq ?? 0;
  const { llmCalls, error, cancelled } = record;
  const status: InvocationState['status'] = waits ? 'waiting' : statusOfRecord(record);
  const base = { invocationId, ...(resume !== undefined && { resume }), lastSeq };
  const state: InvocationState =
    lastEvent && isBlank(record)
      ? { ...base, ...endIn(lastEvent) }
      : { ...base, status, llmCalls, ...(error && { error }), ...(cancelled && { cancelled }) };
  // The record of a run that was cancelled before it began, and a log without a record, have the reason in the error.
  if (state.status === 'cancelled' && state.error) state.cancelled ??= state.error.message;
  return { state, sessionSeq: session.seq, messageSeq: messageEvent?.seq ?? 0 };
}

/** Tells whether an invocation with this status has ended. */
export function hasEnded(status: InvocationState['status']): status is 'completed' | 'failed' | 'cancelled' {
  return status !== 'waiting' && status !== 'running';
}

/** Returns the record with the end of the requested run. */
function recordFor({ resume }: InvocationRef, record: InvocationRecord): InvocationRecord {
  if (resume === undefined) return record;
  const { status: _status, error: _error, ...rest } = record;
  return { ...rest, ...(endOfRun(record, resume) ?? { status: 'running' }) };
}

/**
 * Tells whether the invocation was refused or cancelled before it began: such an invocation has a record and
 * no events. An invocation that did something belongs to the session with its events.
 */
function neverBegan({ status, llmCalls, temp, cancelled, ends }: InvocationRecord): boolean {
  if (ends && status === 'failed') return true;
  if (llmCalls > 0 || Object.keys(temp).length > 0) return false;
  return status === 'failed' || (status === 'running' && cancelled !== undefined);
}

/** Tells whether an invocation without an event waits for its session, or has just taken it. */
function isWaiting(
  { status, home, cancelled }: InvocationRecord,
  { sessionId, resume }: InvocationRef,
): boolean {
  return status === 'running' && cancelled === undefined && resume === undefined && home === sessionId;
}

/** Returns how an invocation ended, by its last event: a failure is a separate event (`settle`). */
function endIn({ event }: LoggedEvent): Pick<InvocationState, 'status' | 'error'> {
  const { errorCode = 'internal', errorMessage = 'the run failed' } = event;
  if (!isFailure(event)) return { status: 'completed' };
  const error = { code: errorCode, message: errorMessage };
  return { status: statusOfRecord({ status: 'failed', error }), error };
}

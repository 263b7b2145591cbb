import {
  endOfRun,
  type InvocationRecord,
  type InvocationRef,
  isFailure,
  messageEventId,
  runKey,
  type StoredEvent,
} from '@agentmesh/agent/internal';
import { assertOptions, type InvocationEnd, MeshError, type OptionNames } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { noSession } from '../mesh/no-session.ts';
import { LogReader, type NumberedEvent } from './log-reader.ts';
import { watchInvocation } from './watch-run.ts';

/** Events looked through at a time for the last one of an invocation. */
const pageSize = 200;
/** After so long without an event, an invocation of which no record is left is taken to be over, in ms: as long as records of ended ones are kept. */
const forgottenMs = 3_600_000;

/** How it stands with an invocation. */
export interface InvocationState {
  invocationId: string;
  /** The run that continued it last, or that was asked for; absent when it was not continued. */
  resume?: string;
  /** Of a continued one: how it stands with that run. */
  status: InvocationRecord['status'];
  /** Model calls so far; absent when the record is not kept any more. */
  llmCalls?: number;
  /** Number of its last event in the session, so far; 0 without any. */
  lastSeq: number;
  /** Why it failed. */
  error?: { code: string; message: string };
  /** Why somebody wants it to end. */
  cancelled?: string;
}

/**
 * How it stands with an invocation of a session, or with a run that continues it (`ref.resume`). One that has not begun yet has left no trace, like one that never was: both are `not_found`, unless
 * the former was cancelled.
 *
 * @throws MeshError `not_found` for an unknown session or invocation
 */
export async function readInvocation(mesh: Mesh, ref: InvocationRef): Promise<InvocationState> {
  return (await readState(mesh, ref)).state;
}

export interface FollowOptions {
  /** Events up to this number of the session are known; default 0, all of the invocation's come. */
  afterSeq?: number;
  /** Ends the following at once; the run itself goes on. */
  signal?: AbortSignal;
}

const optionNames: OptionNames<FollowOptions> = { afterSeq: true, signal: true };

/** A run that somebody came back to. */
export interface FollowedRun {
  /** How it stood when it was come back to. */
  state: InvocationState;
  /** As those of a {@link StartedRun}, from `afterSeq` on. Pieces come only of what is said from now on. */
  numbered: AsyncIterable<NumberedEvent>;
  /** How it ended; settles after `numbered` has. */
  end: Promise<InvocationEnd>;
}

/**
 * Comes back to a run that was started anywhere, at any time: gives what was committed after `afterSeq`, and goes on until the end.
 *
 * @throws MeshError `not_found` as {@link readInvocation}; `invalid_argument` for an `afterSeq` that the session has not come to
 */
export async function followRun(
  mesh: Mesh,
  ref: InvocationRef,
  options: FollowOptions = {},
): Promise<FollowedRun> {
  assertOptions('followRun', options, optionNames);
  const { afterSeq = 0, signal } = options;
  const { state, head, since } = await readState(mesh, ref);
  if (afterSeq > head) {
    throw new MeshError(
      'invalid_argument',
      `session ${ref.sessionId} has ${head} events, and none after ${afterSeq} can be known; give the id of the last event that came from it, or none`,
    );
  }
  const { status, lastSeq, error, resume } = state;
  const from = Math.max(afterSeq, since);
  if (status !== 'running') {
    const numbered = new LogReader(mesh, ref, from, signal).read(lastSeq);
    return { state, numbered, end: Promise.resolve({ status, lastSeq, ...(error && { error }) }) };
  }
  const watch = await watchInvocation(mesh, { ...ref, resume }, { afterSeq: from, catchUp: true, signal });
  return { state, numbered: watch.events, end: watch.end };
}

interface ReadState {
  state: InvocationState;
  /** Number of the session's last event. */
  head: number;
  /** Number of the message of the run that was asked for; 0 when it was the invocation. */
  since: number;
}

async function readState(mesh: Mesh, ref: InvocationRef): Promise<ReadState> {
  // In this order: of a run that has ended, all events are in the log.
  const record = recordFor(ref, await mesh.sessions.invocations.get(ref));
  const session = await mesh.sessions.getSession({ ...ref, config: { numRecentEvents: 0 } });
  if (!session) throw noSession(ref);
  const { invocationId, resume = record.resume } = ref;
  const isOwn = ({ event }: StoredEvent) => event.invocationId === invocationId;
  const isMessage = ({ event }: StoredEvent) => event.id === messageEventId(ref, ref.sessionId);
  const said = ref.resume === undefined ? undefined : await findBackwards(mesh, ref, session.seq, isMessage);
  const last =
    ref.resume === undefined || said ? await findBackwards(mesh, ref, session.seq, isOwn) : undefined;
  if (!last && !neverBegan(record)) {
    throw new MeshError(
      'not_found',
      `session ${ref.sessionId} has nothing of an invocation ${runKey(ref)}; if it was accepted a moment ago it has not begun: ask again`,
    );
  }
  const lastSeq = last?.seq ?? 0;
  const { status, llmCalls, error, cancelled } = record;
  const named = { invocationId, ...(resume !== undefined && { resume }), lastSeq };
  const state =
    last && isForgotten(record, last)
      ? { ...named, ...endIn(last) }
      : { ...named, status, llmCalls, ...(error && { error }), ...(cancelled && { cancelled }) };
  return { state, head: session.seq, since: said?.seq ?? 0 };
}

/** The record as it is for the run that is asked for. */
function recordFor({ resume }: InvocationRef, record: InvocationRecord): InvocationRecord {
  if (resume === undefined) return record;
  const { status: _status, error: _error, ...rest } = record;
  return { ...rest, ...(endOfRun(record, resume) ?? { status: 'running' }) };
}

/** Searched from the end: those that are asked for are mostly recent. */
async function findBackwards(
  mesh: Mesh,
  ref: InvocationRef,
  head: number,
  isIt: (stored: StoredEvent) => boolean,
): Promise<StoredEvent | undefined> {
  for (let before = head; before > 0; before -= pageSize) {
    const afterSeq = Math.max(before - pageSize, 0);
    const page = await mesh.sessions.log.readEvents({ ...ref, afterSeq, limit: before - afterSeq });
    const last = page.findLast(isIt);
    if (last) return last;
  }
  return undefined;
}

/** Refused or cancelled before it began: it has a record and no events. What has done something belongs to the session that has its events. */
function neverBegan({ status, llmCalls, temp, cancelled, ends }: InvocationRecord): boolean {
  if (ends && status === 'failed') return true;
  if (llmCalls > 0 || Object.keys(temp).length > 0) return false;
  return status === 'failed' || (status === 'running' && cancelled !== undefined);
}

/** Records are kept for a while; an invocation without one has that of a running one that did nothing yet. */
function isForgotten({ status, llmCalls, cancelled }: InvocationRecord, { event }: StoredEvent): boolean {
  const isBlank = status === 'running' && llmCalls === 0 && cancelled === undefined;
  return isBlank && Date.now() - event.timestamp > forgottenMs;
}

/** How an invocation ended, by its last event: what fails is told by an event of its own (`settle`). */
function endIn({ event }: StoredEvent): Pick<InvocationState, 'status' | 'error'> {
  const { errorCode = 'internal', errorMessage = 'the run failed' } = event;
  if (!isFailure(event)) return { status: 'completed' };
  return { status: 'failed', error: { code: errorCode, message: errorMessage } };
}

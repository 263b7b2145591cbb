import { randomUUID } from 'node:crypto';
import type { Event } from '@agentmesh/agent';
import {
  defaultLeaseMs,
  type HeldSession,
  type InvocationRef,
  pendingChanges,
  runOfName,
  type TakenSession,
  type TakeOptions,
} from '@agentmesh/agent/internal';
import { toJson } from '@agentmesh/protocol';
import { noteBusy } from './busy-lists.ts';
import { type CommitResult, commitValues } from './commit-values.ts';
import { decodeEvent, encodeEvent } from './event-log.ts';
import { recordOf } from './invocation-record.ts';
import { forgetRuns, noteRun } from './redis-overview.ts';
import { valuesOf } from './script-call.ts';
import { takeAndCommitScript } from './scripts/take-and-commit-script.ts';
import { takeScript } from './scripts/take-script.ts';
import type { SessionPlace } from './session-place.ts';

type HeldReply = [
  token: number,
  begun: number,
  seq: number,
  incarnation: string,
  attempt: number,
  record: string[],
];

type Found =
  | ['held', ...HeldReply]
  | ['busy', string, 0 | 1, 0 | 1]
  | ['begun' | 'duplicate' | 'ended' | 'gone' | 'elsewhere' | 'refused' | 'free'];

/** Takes a session for a run, and commits the run's first event with it, if it has one. */
export async function takeSession(
  place: SessionPlace,
  ref: InvocationRef,
  options: TakeOptions,
): Promise<TakenSession> {
  const { connection, keys } = place;
  // Sent before the script: a crash in between leaves a session that the next sweep takes off the list.
  const noted = noteRun(connection, keys, ref, options);
  const taking = takeAndCommit(place, ref, options);
  const [
    {
      found: [state, ...found],
      committed,
    },
    mark,
  ] = await Promise.all([taking, noted]);
  if (state === 'held') return heldSession(found as HeldReply, mark, committed);
  if (state === 'gone') await forgetRuns(connection, keys, ref);
  if (state !== 'busy') return { state };
  // The end of another run may have taken the session off the list between the two.
  if (!options.onlyWaits) await noteBusy(connection, keys, ref);
  const [holder, isFull, isRejected] = found as [string, 0 | 1, 0 | 1];
  return {
    state,
    ...(holder && { holder: runOfName(holder).invocationId }),
    ...(isFull === 1 && { isFull: true }),
    ...(isRejected === 1 && { isRejected: true }),
  };
}

interface Taking {
  found: Found;
  committed?: HeldSession['committed'];
}

async function takeAndCommit(place: SessionPlace, ref: InvocationRef, options: TakeOptions): Promise<Taking> {
  const { connection } = place;
  const taking = takeValues(place, ref, options);
  const first = options.first && storedForm(options.first);
  if (!first) return { found: await connection.script<Found>(...takeScript.call(taking)) };
  const commit = commitValues(place, {
    ...first,
    ...{ ref, changes: pendingChanges(first.stored, ref.sessionId), uncounted: 0 },
    // Of an invocation that nobody has taken before. For any other one the commit is refused.
    token: 1,
    // The store itself knows the session that it gives.
    knownSeq: 0,
  });
  const call = takeAndCommitScript.call(taking, commit);
  const [found, result] = await connection.script<[Found, CommitResult?]>(...call);
  return { found, ...(Array.isArray(result) && { committed: { seq: result[0], event: first.stored } }) };
}

/** Returns the stored form of an event; undefined for one that cannot be kept, which is the caller's to report. */
function storedForm(event: Event) {
  try {
    const json = encodeEvent(event);
    return { event, json, stored: decodeEvent(json) };
  } catch {
    return undefined;
  }
}

function takeValues({ keys, invocationTtlMs }: SessionPlace, ref: InvocationRef, options: TakeOptions) {
  const {
    run,
    whenBusy,
    rejection,
    leaseMs = defaultLeaseMs,
    delivery,
    place,
    earlier,
    incarnation,
    limits,
    onlyWaits = false,
    onlyNew = false,
  } = options;
  return {
    ...valuesOf(keys, takeScript, ref),
    runningMs: invocationTtlMs.running,
    endedMs: invocationTtlMs.ended,
    nonce: randomUUID(),
    leaseMs,
    whenBusy,
    message: run,
    part: delivery?.part ?? '',
    delivery: delivery?.message ?? '',
    place: place ?? '',
    earlier: earlier ?? '',
    incarnation: incarnation ?? '',
    rejection: rejection ? toJson(rejection, 'the end') : '',
    most: limits?.running ?? '',
    mostQueued: limits?.waiting?.most ?? '',
    refusal: limits?.waiting ? toJson(limits.waiting.refusal, 'the end') : '',
    onlyWaits: onlyWaits ? 1 : '',
    onlyNew: onlyNew ? 1 : '',
    waitingMs: 7 * invocationTtlMs.running,
    agent: options.agent ?? '',
  };
}

function heldSession(
  [token, begun, seq, incarnation, attempt, fields]: HeldReply,
  mark: string,
  committed: HeldSession['committed'],
): HeldSession {
  const record = recordOf(fields);
  const { cancelled } = record;
  const held = { state: 'held', token, begun, seq, incarnation, attempt, record, mark } as const;
  return { ...held, ...(committed && { committed }), ...(cancelled !== undefined && { cancelled }) };
}

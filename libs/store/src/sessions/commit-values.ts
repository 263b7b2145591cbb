import type { AppendEventRequest } from '@agentmesh/agent';
import { type pendingChanges, recordedEnd, runName, tokensOf, turnChanges } from '@agentmesh/agent/internal';
import { type Event, type SessionRef, toJson } from '@agentmesh/protocol';
import type { Outbox } from './app-state.ts';
import { pendingField, pendingValues, turnValues } from './redis-pending-calls.ts';
import { callOf, valuesOf } from './script-call.ts';
import { commitScript } from './scripts/commit-script.ts';
import { plainCommitScript, plainEndScript } from './scripts/plain-commit-script.ts';
import { retentionValues } from './scripts/retention.ts';
import type { SessionPlace } from './session-place.ts';
import { splitDelta } from './state-delta.ts';

/** An event that is about to be committed. */
export interface Committing extends Omit<AppendEventRequest, 'session'> {
  ref: SessionRef;
  json: string;
  /** The calls that the event opens and closes. */
  changes: ReturnType<typeof pendingChanges>;
  knownSeq: number;
  /** The model calls to count. */
  uncounted: number;
}

/** The reply of the scripts that commit. */
export type CommitResult =
  | [seq: number, repeated: 0 | 1, outbox: Outbox, counted: number, isIdle: 0 | 1]
  | 'gone'
  | 'fenced'
  | 'repeated'
  | 'other'
  | 'late';

type Place = Pick<SessionPlace, 'keys' | 'invocationTtlMs' | 'retention'>;

/**
 * Returns the call of a plain commit: of a running run's event that changes no state, opens and closes no call, and
 * stands for no others, in an app that keeps all. Returns undefined for any other event.
 */
export function plainCommit(place: Place, committing: Committing) {
  const { event, changes, token, attempt, aside, whileOpen, end } = committing;
  const { asks, through, author } = turnValues(turnChanges(event));
  const isPlain =
    token !== undefined && attempt === undefined && !aside && whileOpen === undefined && author !== 'user';
  const { ttl, most } = retentionValues(place.retention(committing.ref.appName));
  if (!isPlain || ttl !== '' || most !== '' || through !== '' || end?.resume !== undefined) return undefined;
  const changed = Object.keys(event.actions.stateDelta);
  if (asks.length + changes.opened.length + changes.closed.length + changed.length > 0) return undefined;
  const { keys } = place;
  const ref = { ...committing.ref, invocationId: event.invocationId };
  const values = { ...commonValues(place, committing), author };
  if (!end) return callOf(keys, plainCommitScript, ref, values);
  return callOf(keys, plainEndScript, ref, { ...values, ...endValues(event, end) });
}

/** Returns the keys and arguments of the commit script. */
export function commitValues(place: Place, committing: Committing) {
  const { ref, event, changes, attempt, aside = false, whileOpen, end } = committing;
  const delta = splitDelta(event.actions.stateDelta, 'the state delta');
  return {
    ...valuesOf(place.keys, commitScript, { ...ref, invocationId: event.invocationId }),
    ...commonValues(place, committing),
    part: attempt?.part ?? '',
    attempt: attempt?.number ?? '',
    whileOpen: whileOpen === undefined ? '' : pendingField(ref.sessionId, whileOpen),
    sessionState: delta.session.flat(),
    userState: delta.user.flat(),
    tempState: delta.temp.flat(),
    appState: delta.app.flat(),
    ...pendingValues(changes, ref.sessionId),
    ...turnValues(turnChanges(event)),
    aside: aside ? 1 : 0,
    ...retentionValues(place.retention(ref.appName)),
    ...endValues(event, end),
  };
}

function commonValues(
  { invocationTtlMs }: Place,
  { event, json, knownSeq, token, end, uncounted }: Committing,
) {
  return {
    eventId: event.id,
    event: json,
    timestamp: event.timestamp,
    invocationId: event.invocationId,
    knownSeq,
    runningMs: invocationTtlMs.running,
    endedMs: end?.as.waits ? invocationTtlMs.running : invocationTtlMs.ended,
    fencingToken: token ?? '',
    modelTokens: tokensOf(event),
    calls: uncounted,
  };
}

/** Returns the arguments of the commit script for the end of a run. */
function endValues({ invocationId }: Event, end: AppendEventRequest['end']) {
  const run = { invocationId, resume: end?.resume };
  return {
    endJson: end ? toJson(recordedEnd(end.as), 'the end') : '',
    endRun: runName(run),
    endResume: run.resume === undefined ? '' : runName(run),
  };
}

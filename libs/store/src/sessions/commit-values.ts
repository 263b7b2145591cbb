import type { AppendEventRequest } from '@agentmesh/agent';
import { type pendingChanges, recordedEnd, runName, tokensOf, turnChanges } from '@agentmesh/agent/internal';
import { type Event, encodeToken, type Keys, type SessionRef, toJson } from '@agentmesh/protocol';
import type { Outbox } from './app-state.ts';
import { sessionKeys } from './lease-keys.ts';
import { pendingField, pendingValues, turnValues } from './redis-pending-calls.ts';
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
  if (asks.length + changes.opened.length + changes.closed.length > 0) return undefined;
  for (const _key in event.actions.stateDelta) return undefined;
  const values = { ...commonValues(place, committing), author };
  if (!end) return plainCommitScript.call(values);
  return plainEndScript.call({ ...values, ...endKeys(place.keys, committing.ref), ...endValues(event, end) });
}

/** Returns the keys and arguments of the commit script. */
export function commitValues(place: Place, committing: Committing) {
  const { ref, event, changes, attempt, aside = false, whileOpen, end } = committing;
  const { sessionId: id, appName, userId } = ref;
  const { keys } = place;
  const delta = splitDelta(event.actions.stateDelta, 'the state delta');
  return {
    ...commonValues(place, committing),
    ...endKeys(keys, ref),
    state: keys.state(ref),
    user: keys.user(appName, userId),
    outbox: keys.appOutbox(appName, userId),
    pending: keys.pending(appName, userId),
    answered: keys.answered(ref),
    hiddenSessions: keys.hiddenSessions(appName, userId),
    sessionEnds: keys.sessionEnds(appName, userId),
    part: attempt?.part ?? '',
    attempt: attempt?.number ?? '',
    whileOpen: whileOpen === undefined ? '' : pendingField(id, whileOpen),
    sessionState: delta.session.flat(),
    userState: delta.user.flat(),
    tempState: delta.temp.flat(),
    appState: delta.app.flat(),
    ...pendingValues(changes, id),
    ...turnValues(turnChanges(event)),
    aside: aside ? 1 : 0,
    ...retentionValues(place.retention(appName)),
    ...endValues(event, end),
  };
}

function commonValues(
  { keys, invocationTtlMs }: Place,
  { ref, event, json, knownSeq, token, end, uncounted }: Committing,
) {
  return {
    session: keys.session(ref),
    events: keys.events(ref),
    invocation: keys.invocation(ref.appName, ref.userId, event.invocationId),
    id: ref.sessionId,
    sessionToken: encodeToken(ref.sessionId),
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

function endKeys(keys: Keys, ref: SessionRef) {
  const { appName, userId } = ref;
  return {
    ...sessionKeys(keys, ref),
    sessions: keys.sessions(appName, userId),
    index: keys.index(appName, userId),
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

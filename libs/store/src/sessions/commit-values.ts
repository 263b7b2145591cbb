import type { AppendEventRequest } from '@agentmesh/agent';
import { type pendingChanges, recordedEnd, runName, tokensOf, turnChanges } from '@agentmesh/agent/internal';
import { type Event, encodeToken, type Keys, type SessionRef, toJson } from '@agentmesh/protocol';
import type { Outbox } from './app-state.ts';
import { sessionKeys } from './lease-keys.ts';
import { pendingField, pendingValues, turnValues } from './redis-pending-calls.ts';
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

/** The reply of the commit script. */
export type CommitResult =
  | [seq: number, repeated: 0 | 1, outbox: Outbox, counted: number, isIdle: 0 | 1]
  | 'gone'
  | 'fenced'
  | 'repeated'
  | 'other'
  | 'late';

/** Returns the keys and arguments of the commit script. */
export function commitValues(
  { keys, invocationTtlMs, retention }: Pick<SessionPlace, 'keys' | 'invocationTtlMs' | 'retention'>,
  {
    ref,
    event,
    json,
    changes,
    knownSeq,
    token,
    attempt,
    aside = false,
    whileOpen,
    end,
    uncounted,
  }: Committing,
) {
  const { sessionId: id } = ref;
  const delta = splitDelta(event.actions.stateDelta, 'the state delta');
  return {
    ...commitKeys(keys, ref, event),
    id,
    sessionToken: encodeToken(id),
    eventId: event.id,
    event: json,
    timestamp: event.timestamp,
    invocationId: event.invocationId,
    knownSeq,
    runningMs: invocationTtlMs.running,
    endedMs: end?.as.waits ? invocationTtlMs.running : invocationTtlMs.ended,
    fencingToken: token ?? '',
    modelTokens: tokensOf(event),
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
    ...retentionValues(retention(ref.appName)),
    ...endValues(event, end),
    calls: uncounted,
  };
}

function commitKeys(keys: Keys, ref: SessionRef, { invocationId }: Event) {
  const { appName, userId } = ref;
  return {
    ...sessionKeys(keys, ref),
    events: keys.events(ref),
    state: keys.state(ref),
    user: keys.user(appName, userId),
    sessions: keys.sessions(appName, userId),
    invocation: keys.invocation(appName, userId, invocationId),
    outbox: keys.appOutbox(appName, userId),
    pending: keys.pending(appName, userId),
    answered: keys.answered(ref),
    hiddenSessions: keys.hiddenSessions(appName, userId),
    index: keys.index(appName, userId),
    sessionEnds: keys.sessionEnds(appName, userId),
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

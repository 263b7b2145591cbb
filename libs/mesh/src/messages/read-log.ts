import type { StoredEvent } from '@agentmesh/agent/internal';
import { type Event, replicaKey, type SessionRef, unlessAborted } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';

/** The most events of a page, and their characters together: a whole page is in memory. */
const page = { limit: 50, maxChars: 262_144 };

/** A committed event, or the outline of a large one. */
export interface LoggedEvent {
  event: Event;
  seq: number;
  /** True if only the outline of the event is here: the log has the whole of it. */
  isOutline?: true;
}

/** Tells which events come as outlines: those whose JSON has more characters than this; default none. */
export interface OutlineOptions {
  outlineAbove?: number | undefined;
}

/** The part of a log with `afterSeq` < seq <= `lastSeq`. */
interface LogRange extends OutlineOptions {
  afterSeq: number;
  /** Default: up to the end of the log. */
  lastSeq?: number;
  signal?: AbortSignal | undefined;
}

/**
 * Reads some of the next events of a range, one at least; none at its end. Large events stay in memory only until
 * their outlines are made.
 */
export async function readLogPage(
  mesh: Mesh,
  { appName, userId, sessionId }: SessionRef,
  { afterSeq, lastSeq = Number.POSITIVE_INFINITY, outlineAbove, signal }: LogRange,
): Promise<LoggedEvent[]> {
  const limit = Math.min(page.limit, lastSeq - afterSeq);
  if (limit <= 0) return [];
  const request = { appName, userId, sessionId, afterSeq, limit, maxChars: page.maxChars };
  const reading = mesh.readerLimits.pages(async () => {
    if (signal?.aborted) return [];
    const stored = await mesh.sessions.log.readEvents(request);
    return stored.map((each) => logged(each, outlineAbove));
  });
  return await unlessAborted(reading, signal);
}

/** Yields the events of a range in order. */
export async function* readLog(
  mesh: Mesh,
  ref: SessionRef,
  range: LogRange,
): AsyncGenerator<LoggedEvent, void, void> {
  for (let afterSeq = range.afterSeq; ; ) {
    const events = await readLogPage(mesh, ref, { ...range, afterSeq });
    yield* events;
    const last = events.at(-1);
    if (!last) return;
    afterSeq = last.seq;
  }
}

/** Returns the event, or its outline if the event has more characters than `outlineAbove`. */
export function logged(
  { event, seq, chars = 0 }: StoredEvent,
  outlineAbove = Number.POSITIVE_INFINITY,
): LoggedEvent {
  return chars > outlineAbove ? { event: outlineOf(event), seq, isOutline: true } : { event, seq };
}

/** Returns what tells an event from others, without its contents: who wrote it, a failure, and a rewind. */
function outlineOf({ id, invocationId, author, branch, timestamp, actions, ...rest }: Event): Event {
  const { rewindBeforeInvocationId, rewindFromSeq } = actions;
  const { errorCode, errorMessage, customMetadata } = rest;
  const replica = customMetadata?.[replicaKey];
  return {
    ...{ id, invocationId, timestamp },
    ...(author !== undefined && { author }),
    ...(branch !== undefined && { branch }),
    ...(errorCode !== undefined && { errorCode }),
    ...(errorMessage !== undefined && { errorMessage: errorMessage.slice(0, 1_000) }),
    ...(replica !== undefined && { customMetadata: { [replicaKey]: replica } }),
    actions: {
      ...{ stateDelta: {}, artifactDelta: {}, requestedAuthConfigs: {}, requestedToolConfirmations: {} },
      ...(rewindBeforeInvocationId !== undefined && { rewindBeforeInvocationId }),
      ...(rewindFromSeq !== undefined && { rewindFromSeq }),
    },
  };
}

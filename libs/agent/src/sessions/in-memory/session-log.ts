import { MeshError, type SessionRef } from '@agentmesh/protocol';
import { scopeOf } from '../../events/state.ts';
import type { InvocationRef } from '../invocations.ts';
import type {
  HistoryPart,
  ReadEventsRequest,
  SessionLog,
  StoredEvent,
  TurnNeed,
  TurnSession,
} from '../session-log.ts';
import { assertCount, parseEvent, readEvent, withPrefix } from './event-log.ts';
import type { Tables } from './tables.ts';
import { firstNeeded } from './turns.ts';

export class InMemorySessionLog implements SessionLog {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  async readEvents(request: ReadEventsRequest): Promise<StoredEvent[]> {
    const { afterSeq = 0, limit = 1_000 } = request;
    assertCount('afterSeq', afterSeq);
    assertCount('limit', limit);
    const events = this.#tables.findSession(request)?.events.slice(afterSeq, afterSeq + limit) ?? [];
    return events.map((json, at) => ({ seq: afterSeq + at + 1, event: parseEvent(json) }));
  }

  async readTurn(ref: InvocationRef, need: TurnNeed, knownSeq = 0): Promise<TurnSession | undefined> {
    const tables = this.#tables;
    const stored = tables.findSession(ref);
    if (!stored) return undefined;
    const own = tables.findInvocation(ref)?.firstSeqs.get(tables.keys.session(ref));
    const firstSeq = firstNeeded(need, stored, own);
    const events = stored.events.slice(Math.max(firstSeq, knownSeq) - 1).map(parseEvent);
    return { session: tables.view(ref, stored, events), firstSeq, incarnation: stored.incarnation };
  }

  async appendHistory(ref: SessionRef, { afterSeq, events }: HistoryPart): Promise<void> {
    const read = events.map(readEvent);
    const stored = this.#tables.findSession(ref);
    if (!stored) throw new MeshError('not_found', `session ${ref.sessionId} is gone; create a new one`);
    const last = events.at(-1);
    if (!last) return;
    if (stored.events.length !== afterSeq) {
      const there = stored.events[afterSeq + events.length - 1];
      if (there !== undefined && parseEvent(there).id === last.id) return;
      throw elsewhere(ref, afterSeq, stored.events.length);
    }
    for (const { json, delta } of read) {
      stored.events.push(json);
      const own = delta.filter(([key]) => scopeOf(key) === 'session');
      this.#tables.apply(ref, own, { session: stored.state });
    }
    for (const [at, { author = '' }] of events.entries()) stored.authors.set(author, afterSeq + at + 1);
    stored.updated = last.timestamp;
  }

  async initialState(ref: SessionRef): Promise<Record<string, unknown> | undefined> {
    const stored = this.#tables.findSession(ref);
    return stored && withPrefix('', stored.initial);
  }
}

/** The error for history that does not go where it should. */
export function elsewhere({ sessionId }: SessionRef, afterSeq: number, seq: number): MeshError {
  return new MeshError(
    'failed_precondition',
    `session ${sessionId} has ${seq} events, and history is to be put after ${afterSeq}; read it again`,
  );
}

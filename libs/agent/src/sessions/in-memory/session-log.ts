import type { SessionRef } from '@agentmesh/protocol';
import { copyJson } from '../../events/copy-json.ts';
import { scopeOf } from '../../events/state.ts';
import type { InvocationRef } from '../invocations.ts';
import { historyGapError, noSession } from '../session-errors.ts';
import {
  assertCount,
  type HistoryPart,
  type ReadEventsRequest,
  type SessionLog,
  type StoredEvent,
  type TurnNeed,
  type TurnSession,
} from '../session-log.ts';
import { readEvent, withPrefix } from './event-log.ts';
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
    const stored = events.map((event, at) => ({ seq: afterSeq + at + 1, event: copyJson(event) }));
    return request.maxChars === undefined ? stored : withinChars(stored, request.maxChars);
  }

  async readTurn(ref: InvocationRef, need: TurnNeed, knownSeq = 0): Promise<TurnSession | undefined> {
    const tables = this.#tables;
    const stored = tables.findSession(ref);
    if (!stored) return undefined;
    const firstSeq = firstNeeded(need, stored, stored.firstSeqs.get(ref.invocationId));
    const events = stored.events.slice(Math.max(firstSeq, knownSeq) - 1);
    const session = tables.view(ref, stored, events);
    return { session, firstSeq, incarnation: stored.incarnation, sharesEvents: true };
  }

  async appendHistory(ref: SessionRef, { afterSeq, events }: HistoryPart): Promise<void> {
    const read = events.map(readEvent);
    const stored = this.#tables.findSession(ref);
    if (!stored) throw noSession(ref);
    const last = events.at(-1);
    if (!last) return;
    if (stored.events.length !== afterSeq) {
      const there = stored.events[afterSeq + events.length - 1];
      if (there?.id === last.id) return;
      throw historyGapError(ref, afterSeq, stored.events.length);
    }
    for (const { stored: event, delta } of read) {
      stored.events.push(event);
      const sessionDelta = delta.filter(([key]) => scopeOf(key) === 'session');
      this.#tables.apply(ref, sessionDelta, { session: stored });
    }
    for (const [at, { author = '' }] of events.entries()) stored.authors.set(author, afterSeq + at + 1);
    stored.updated = last.timestamp;
  }

  async initialState(ref: SessionRef): Promise<Record<string, unknown> | undefined> {
    const stored = this.#tables.findSession(ref);
    return stored && withPrefix('', stored.initial);
  }
}

/** Returns the first events that have so many characters together, at least one. */
function withinChars(stored: readonly StoredEvent[], maxChars: number): StoredEvent[] {
  const sized = stored.map((each) => ({ ...each, chars: JSON.stringify(each.event).length }));
  let sum = 0;
  const end = sized.findIndex(({ chars }, at) => {
    sum += chars;
    return at > 0 && sum > maxChars;
  });
  return end < 0 ? sized : sized.slice(0, end);
}

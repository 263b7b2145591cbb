import type { InvocationRef } from '@agentmesh/agent/internal';
import { type Event, unlessAborted } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';

/**
 * Number of committed events that are read from the log at a time: an event may be large, and a whole page is
 * in memory.
 */
const pageSize = 50;

/**
 * An event and its number in the session. A piece of an event (`partial`) has no number: it is not committed.
 */
export interface NumberedEvent {
  event: Event;
  seq?: number;
}

/**
 * Reads the events of an invocation from the log of its session, each once. The user's events are left out.
 */
export class LogReader {
  /** Number of the last event of the session that was read. */
  seen: number;
  readonly #mesh: Mesh;
  readonly #ref: InvocationRef;
  readonly #signal: AbortSignal | undefined;
  #from: string | undefined;

  /** @param from id of the event after which the wanted events begin; default: all events are wanted */
  constructor(mesh: Mesh, ref: InvocationRef, afterSeq: number, signal?: AbortSignal, from?: string) {
    this.#mesh = mesh;
    this.#ref = ref;
    this.seen = afterSeq;
    this.#signal = signal;
    this.#from = from;
  }

  /** Tells whether the wanted events have begun. */
  get hasBegun(): boolean {
    return this.#from === undefined;
  }

  /** Yields the events from the end of the last reading to the end of the log, or to `lastSeq`. */
  async *read(lastSeq = Number.POSITIVE_INFINITY): AsyncGenerator<NumberedEvent, void, void> {
    while (this.seen < lastSeq) {
      const limit = Math.min(pageSize, lastSeq - this.seen);
      const request = { ...this.#ref, afterSeq: this.seen, limit };
      const page = await unlessAborted(this.#mesh.sessions.log.readEvents(request), this.#signal);
      for (const { seq, event } of page) {
        this.seen = seq;
        if (!this.wants(event)) continue;
        yield { event, seq };
        this.#signal?.throwIfAborted();
      }
      if (page.length < limit) return;
    }
  }

  /** Tells whether this event, the next one of the session, is wanted. */
  wants({ id, invocationId, author }: Event): boolean {
    if (id === this.#from) this.#from = undefined;
    return this.hasBegun && invocationId === this.#ref.invocationId && author !== 'user';
  }
}

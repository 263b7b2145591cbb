import type { InvocationRef } from '@agentmesh/agent/internal';
import type { Event } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';

/** Committed events read from the log at a time: an event may be large, and all of a page is in memory. */
const pageSize = 50;

/** An event and its number in the session. A piece of an event (`partial`) has none: it is not kept. */
export interface NumberedEvent {
  event: Event;
  seq?: number;
}

/** Reads an invocation's events from its session's log, each once. What the user says is not among them. */
export class LogReader {
  /** Number of the last event of the session that was looked at. */
  seen: number;
  readonly #mesh: Mesh;
  readonly #ref: InvocationRef;
  readonly #signal: AbortSignal | undefined;
  #from: string | undefined;

  /** @param from id of the event behind which those that are wanted begin; default all are */
  constructor(mesh: Mesh, ref: InvocationRef, afterSeq: number, signal?: AbortSignal, from?: string) {
    this.#mesh = mesh;
    this.#ref = ref;
    this.seen = afterSeq;
    this.#signal = signal;
    this.#from = from;
  }

  /** Have those events begun that are wanted? */
  get hasBegun(): boolean {
    return this.#from === undefined;
  }

  /** From where the last reading ended to the end of the log, or to `lastSeq`. */
  async *read(lastSeq = Number.POSITIVE_INFINITY): AsyncGenerator<NumberedEvent, void, void> {
    while (this.seen < lastSeq) {
      const limit = Math.min(pageSize, lastSeq - this.seen);
      const request = { ...this.#ref, afterSeq: this.seen, limit };
      const page = await orAbort(this.#mesh.sessions.log.readEvents(request), this.#signal);
      for (const { seq, event } of page) {
        this.seen = seq;
        if (!this.wants(event)) continue;
        yield { event, seq };
        this.#signal?.throwIfAborted();
      }
      if (page.length < limit) return;
    }
  }

  /** Is this event, the next one of the session, one that is wanted? */
  wants({ id, invocationId, author }: Event): boolean {
    if (id === this.#from) this.#from = undefined;
    return this.hasBegun && invocationId === this.#ref.invocationId && author !== 'user';
  }
}

/** The result of some work, unless the signal aborts first: then its reason is thrown at once, and nobody waits for the work. */
export async function orAbort<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return await work;
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

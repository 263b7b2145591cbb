import type { InvocationRef } from '@agentmesh/agent/internal';
import type { Event } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { outlastOutage } from '../messages/outlast-outage.ts';
import { type OutlineOptions, readLogPage } from '../messages/read-log.ts';

/**
 * An event and its number in the session. A piece of an event (`partial`) has no number: it is not committed.
 */
export interface NumberedEvent {
  event: Event;
  seq?: number;
  /** True if only the outline of a large event is here: the log of the session has the whole of it. */
  isOutline?: true;
  /** True if the event came as a message when it was committed; otherwise it was read from the log. */
  isLive?: true;
}

export interface LogReaderOptions extends OutlineOptions {
  /** Number of the last event of the session that the reader knows. */
  afterSeq: number;
  signal?: AbortSignal | undefined;
  /** Id of the event after which the wanted events begin; default: all events are wanted. */
  from?: string | undefined;
}

/**
 * Reads the events of an invocation from the log of its session, each once. The user's events are left out.
 */
export class LogReader {
  /** Number of the last event of the session that was read. */
  seen: number;
  readonly #mesh: Mesh;
  readonly #ref: InvocationRef;
  readonly #options: LogReaderOptions;
  #from: string | undefined;

  constructor(mesh: Mesh, ref: InvocationRef, options: LogReaderOptions) {
    this.#mesh = mesh;
    this.#ref = ref;
    this.seen = options.afterSeq;
    this.#options = options;
    this.#from = options.from;
  }

  /** Tells whether the wanted events have begun. */
  get hasBegun(): boolean {
    return this.#from === undefined;
  }

  /** Yields the events from the end of the last reading to the end of the log, or to `lastSeq`. */
  async *read(lastSeq = Number.POSITIVE_INFINITY): AsyncGenerator<NumberedEvent, void, void> {
    const { signal, outlineAbove } = this.#options;
    for (;;) {
      const range = { afterSeq: this.seen, lastSeq, signal, outlineAbove };
      const page = await outlastOutage(() => readLogPage(this.#mesh, this.#ref, range), signal);
      if (page.length === 0) return;
      for (const each of page) {
        this.seen = each.seq;
        if (!this.wants(each.event)) continue;
        yield each;
        signal?.throwIfAborted();
      }
    }
  }

  /** Tells whether this event, the next one of the session, is wanted. */
  wants({ id, invocationId, author }: Event): boolean {
    if (id === this.#from) this.#from = undefined;
    return this.hasBegun && invocationId === this.#ref.invocationId && author !== 'user';
  }
}

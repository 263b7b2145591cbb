import type { StoredEvent } from '@agentmesh/agent/internal';
import type { NumberedEvent } from '@agentmesh/mesh';
import type { SessionRef } from '@agentmesh/protocol';
import type { ShowEvent } from '../access/shown-event.ts';
import { eventPages, listJoiner } from '../answers/event-pages.ts';
import type { GatewayContext } from '../context/context.ts';
import type { Parts } from '../context/large-answers.ts';

/** The bytes of events that one run may keep. All runs of the process share `readerLimits.answers`. */
const mostOfRun = 262_144;

/**
 * The committed events of a run for an answer that begins at its end. The texts of a few events are kept; of many or
 * large events only the numbers, and the answer reads the log again.
 */
export class CollectedEvents implements Disposable {
  readonly #context: GatewayContext;
  readonly #ref: SessionRef;
  readonly #show: ShowEvent;
  readonly #seqs: number[] = [];
  #texts: string[] | undefined = [];
  #kept = 0;

  constructor(context: GatewayContext, ref: SessionRef, show: ShowEvent) {
    this.#context = context;
    this.#ref = ref;
    this.#show = show;
  }

  /** Adds an event. A piece of an event is left out. */
  add({ event, seq, isOutline }: NumberedEvent): void {
    if (seq === undefined) return;
    this.#seqs.push(seq);
    if (isOutline) this[Symbol.dispose]();
    if (!this.#texts) return;
    const text = JSON.stringify(this.#show(event));
    const shared = this.#context.mesh.readerLimits.answers;
    if (this.#kept + text.length > mostOfRun || shared.waiting + text.length > shared.most) {
      this[Symbol.dispose]();
      return;
    }
    this.#texts.push(text);
    this.#kept += text.length;
    shared.waiting += text.length;
  }

  /** The list in JSON, if all texts are kept. */
  get text(): string | undefined {
    return this.#texts && `[${this.#texts.join(',')}]`;
  }

  /** Forgets the texts. */
  [Symbol.dispose](): void {
    this.#context.mesh.readerLimits.answers.waiting -= this.#kept;
    this.#kept = 0;
    this.#texts = undefined;
  }

  /** Returns the events as the parts of a list in JSON. */
  *parts(): Parts {
    const { text } = this;
    if (text !== undefined) return yield async () => text;
    const wanted = new Set(this.#seqs);
    const range = { after: (this.#seqs[0] ?? 1) - 1, last: this.#seqs.at(-1) ?? 0 };
    const join = listJoiner();
    const textOf = (page: readonly StoredEvent[]) =>
      join(page.filter(({ seq }) => wanted.has(seq)).map(({ event }) => this.#show(event)));
    yield async () => '[';
    yield* eventPages(this.#context, this.#ref, range, textOf);
    yield async () => ']';
  }
}

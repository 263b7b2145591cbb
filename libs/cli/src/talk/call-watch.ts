import type { Event } from '@agentmesh/protocol';
import { questionWords, short } from './question-words.ts';

/** The silence after which a person is told what a run waits for, in ms; after that, twice the time each. */
const silenceMs = 5_000;

/** A call whose response has not come. */
interface OpenCall {
  words: string;
  since: number;
}

/** Tells what a silent run waits for. */
export class CallWatch implements Disposable {
  readonly #tell: (line: string) => void;
  readonly #calls = new Map<string, OpenCall>();
  #since = Date.now();
  #timer: NodeJS.Timeout | undefined;

  /** @param tell gets a line for people, such as `… waits for pay({"amount":3}) of payer: 5 s` */
  constructor(tell: (line: string) => void) {
    this.#tell = tell;
    this.#wait(silenceMs);
  }

  /** Notes an event of the run. */
  note(event: Event): void {
    this.#since = Date.now();
    for (const { functionCall, functionResponse } of event.content?.parts ?? []) {
      if (functionResponse?.id) this.#calls.delete(functionResponse.id);
      if (functionCall?.id && !event.partial) this.#open({ ...functionCall, id: functionCall.id }, event);
    }
    this.#wait(silenceMs);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }

  #open({ id, name = '', args = {} }: { id: string; name?: string; args?: object }, event: Event): void {
    const agent = event.author ?? '';
    if (questionWords({ name, args: { ...args }, agent }) !== undefined) return;
    this.#calls.set(id, { words: `${name}(${short(args)}) of ${agent}`, since: this.#since });
  }

  #wait(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const calls = [...this.#calls.values()];
      const waited = calls.length > 0 ? calls : [{ words: 'an answer', since: this.#since }];
      for (const { words, since } of waited)
        this.#tell(`… waits for ${words}: ${Math.round((Date.now() - since) / 1_000)} s`);
      this.#wait(2 * ms);
    }, ms);
    // The run keeps the process, not the watch.
    this.#timer.unref();
  }
}

import type { Content, FinishReason, Part } from '@google/genai';
import { BaseLlm, type LlmRequest, type LlmResponse } from '../base/base-llm.ts';

/** Most model calls of a program: no program has a loop without an end, and each model stops sooner or later. */
export const mostModelCalls = 1_000;
/** Length of a prompt from which on a model only talks. */
const longPrompt = 16;

/** A generator of numbers from a seed, after mulberry32. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  below(count: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % count;
  }

  one<T>(...choices: readonly [T, ...T[]]): T {
    return choices[this.below(choices.length)] as T;
  }

  /** True one time in so many. */
  in(count: number): boolean {
    return this.below(count) === 0;
  }
}

/** A model that answers equal requests in the same way, in any way that a model of one's own may. */
export class OddLlm extends BaseLlm {
  readonly #world: { modelCalls: number };
  readonly #seed: number;

  constructor(world: { dice: Dice; modelCalls: number }) {
    super({ model: 'odd' });
    this.#world = world;
    this.#seed = world.dice.below(2 ** 30);
  }

  override async *generateContentAsync(request: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
    this.#world.modelCalls += 1;
    if (this.#world.modelCalls > mostModelCalls) throw new Error('asked for ever');
    const text = JSON.stringify([request.contents, Object.keys(request.toolsDict)]);
    const dice = new Dice(
      [...text].reduce((sum, each) => (Math.imul(sum, 31) + each.charCodeAt(0)) | 0, this.#seed),
    );
    if (request.contents.length >= longPrompt) yield { content: { parts: [{ text: 'enough' }] } };
    else for (let n = 1 + dice.below(3); n > 0; n -= 1) yield* oddResponse(dice, request);
  }
}

function* oddResponse(dice: Dice, { toolsDict }: LlmRequest): Generator<LlmResponse> {
  const call = (name: string): Part => ({
    functionCall: { name, args: name === 'transfer_to_agent' ? { agentName: dice.one('a', 'b', 'c') } : {} },
  });
  const names = Object.keys(toolsDict);
  const any = () => call(dice.one(names[dice.below(names.length || 1)] ?? 'none', 'unknown'));
  const content = (...parts: Part[]): { content: Content } => ({ content: { role: 'model', parts } });
  const kind = dice.below(14);
  if (kind < 5) yield content(any(), ...(dice.in(3) ? [any()] : []));
  else if (kind < 8) yield content({ text: `words ${dice.below(9)}` });
  else if (kind === 8) yield { ...content({ text: 'pie' }), partial: true };
  else if (kind === 9)
    yield dice.one<LlmResponse>({}, { usageMetadata: {} }, content(), content({ text: ' ' }));
  else if (kind === 10) yield { finishReason: dice.one('STOP', 'SAFETY', 'MAX_TOKENS') as FinishReason };
  else if (kind === 11) yield content({ text: 'hm', thought: true }, ...(dice.in(2) ? [any()] : []));
  else if (kind === 12)
    yield dice.one<LlmResponse>({ errorCode: 'BUSY' }, content(call('adk_request_input')));
  else throw new Error('the model failed');
}

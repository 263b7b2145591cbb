import type { Context } from '../context.ts';
import { type InstructionProvider, readInstruction } from '../flow/instructions.ts';
import type { LlmRequest, LlmResponse } from '../models/llm.ts';
import { BasePlugin } from './base-plugin.ts';

/** Tells every agent of a runner the same, before its own instruction. */
export class GlobalInstructionPlugin extends BasePlugin {
  readonly #instruction: string | InstructionProvider;

  constructor(globalInstruction: string | InstructionProvider = '', name = 'global_instruction') {
    super(name);
    this.#instruction = globalInstruction;
  }

  override async beforeModelCallback({
    callbackContext,
    llmRequest: { config },
  }: {
    callbackContext: Context;
    llmRequest: LlmRequest;
  }): Promise<LlmResponse | undefined> {
    const text = await readInstruction(this.#instruction, callbackContext);
    const own = typeof config.systemInstruction === 'string' ? config.systemInstruction : '';
    if (text !== '') config.systemInstruction = [text, own].filter((each) => each !== '').join('\n\n');
    return undefined;
  }
}

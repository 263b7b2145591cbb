import type { LlmRequest, LlmResponse } from '../base/base-llm.ts';
import { BasePlugin } from '../base/base-plugin.ts';
import type { InstructionProvider } from '../base/callbacks.ts';
import type { Context } from '../base/context.ts';
import { readInstruction } from '../prompt/instructions.ts';

/** A plugin that gives every agent of a runner the same instruction, before the agent's own instruction. */
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
    const ownInstruction = typeof config.systemInstruction === 'string' ? config.systemInstruction : '';
    if (text !== '')
      config.systemInstruction = [text, ownInstruction].filter((each) => each !== '').join('\n\n');
    return undefined;
  }
}

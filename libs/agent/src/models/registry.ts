import { MeshError } from '@agentmesh/protocol';
import { Gemini } from './gemini.ts';
import type { BaseLlm } from './llm.ts';

type LlmFactory = (model: string) => BaseLlm;

const factories: { pattern: RegExp; make: LlmFactory }[] = [
  {
    pattern: /^(?:models\/)?(?:gemini|learnlm|gemma)-.+|^projects\/.+\/(?:models|endpoints)\/.+$/,
    make: (model) => new Gemini({ model }),
  },
];

/** Finds the class of a model by its name. */
export const LLMRegistry = {
  /** Names that match go to `make`; the newest registration is asked first. */
  register(pattern: RegExp, make: LlmFactory): void {
    factories.unshift({ pattern, make });
  },

  /** @throws MeshError `not_found` for a name that nothing is registered for. */
  newLlm(model: string): BaseLlm {
    const found = factories.find(({ pattern }) => pattern.test(model));
    if (!found)
      throw new MeshError(
        'not_found',
        `no model class for "${model}"; register one with LLMRegistry.register`,
      );
    return found.make(model);
  },
};

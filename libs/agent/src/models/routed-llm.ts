import { MeshError } from '@agentmesh/protocol';
import { BaseLlm, type GenerateOptions, type LlmRequest, type LlmResponse } from './llm.ts';

/** Which model to try, seeing what failed so far; undefined: give up with the last error. */
export type LlmRouter = (
  request: LlmRequest,
  failed: readonly { key: string; error: unknown }[],
) => string | undefined | Promise<string | undefined>;

export interface RoutedLlmOptions {
  /** Models by key, in the order in which they are tried when there is no router. */
  models: Record<string, BaseLlm>;
  router?: LlmRouter;
}

/**
 * Several models as one: the router picks, and a model that fails before its first word is replaced by another. After the first word an
 * error is an error: what was heard cannot be taken back.
 */
export class RoutedLlm extends BaseLlm {
  readonly #models: Map<string, BaseLlm>;
  readonly #router: LlmRouter;

  /** @throws MeshError `invalid_argument` without models */
  constructor({ models, router }: RoutedLlmOptions) {
    super({
      model: Object.values(models)
        .map(({ model }) => model)
        .join('|'),
    });
    this.#models = new Map(Object.entries(models));
    if (this.#models.size === 0)
      throw new MeshError('invalid_argument', 'a routed model needs models; give it some');
    this.#router = router ?? ((_request, failed) => Object.keys(models)[failed.length]);
  }

  override async *generateContentAsync(
    request: LlmRequest,
    options: GenerateOptions = {},
  ): AsyncGenerator<LlmResponse, void, void> {
    const failed: { key: string; error: unknown }[] = [];
    for (;;) {
      const key = await this.#router(request, failed);
      const model = key === undefined ? undefined : this.#models.get(key);
      const isNew = !failed.some((each) => each.key === key);
      if (key === undefined || !model || !isNew) {
        if (failed.length > 0) throw failed.at(-1)?.error;
        throw new MeshError(
          'invalid_argument',
          `the router chose "${key}", which is none of ${[...this.#models.keys()].join(', ')}`,
        );
      }
      const answers = model.generateContentAsync({ ...request, model: model.model }, options);
      try {
        const first = await answers.next();
        if (!first.done) yield first.value;
      } catch (error) {
        options.signal?.throwIfAborted();
        failed.push({ key, error });
        continue;
      }
      yield* answers;
      return;
    }
  }
}

import { assertOptions, type OptionNames } from '@agentmesh/protocol';
import { assertStream, BaseLlm, type LlmRequest, type LlmResponse } from '../base/base-llm.ts';
import { byKey, type Router, Routes, type RoutingErrorContext } from './routing.ts';

/** A function that selects the next model, from the request and the failures so far. */
export type LlmRouter = Router<BaseLlm, LlmRequest>;

export interface RoutedLlmOptions {
  /** Models by key. With a list, the keys are the models' names. */
  models: Readonly<Record<string, BaseLlm>> | readonly BaseLlm[];
  /** Default: all models in order, each once. */
  router?: LlmRouter;
  /** Default: the names of the models. */
  modelName?: string;
}

const optionNames: OptionNames<RoutedLlmOptions> = { models: true, router: true, modelName: true };

/**
 * Several models as one. A router selects the model; a model that fails before its first output is replaced
 * by another model. After the first output an error is final, because the output cannot be taken back.
 */
export class RoutedLlm extends BaseLlm {
  readonly #routes: Routes<BaseLlm, LlmRequest>;

  /** @throws MeshError `invalid_argument` without models, or for an unknown option */
  constructor(options: RoutedLlmOptions) {
    assertOptions('a RoutedLlm', options ?? null, optionNames, { isOpen: new.target !== RoutedLlm });
    const { models, router, modelName } = options;
    const all = byKey(models, ({ model }) => model);
    const names = Object.values(all).map(({ model }) => model);
    super({ model: modelName ?? (names.join('|') || 'routed') });
    this.#routes = new Routes('a routed model', all, router);
  }

  /** Lists the problems of all its models, because each of them may be called next. */
  override keyProblems(): string[] {
    return [...new Set(this.#routes.all().flatMap((model) => model.keyProblems()))];
  }

  /** Returns the provider of all its models; `_OTHER` when they have several. */
  override providerName(): string {
    const [first, ...others] = new Set(this.#routes.all().map((model) => model.providerName()));
    return first !== undefined && others.length === 0 ? first : super.providerName();
  }

  /**
   * @throws the error of the model that failed last; MeshError `invalid_argument` when the router selects a
   * model that does not exist
   */
  override async *generateContentAsync(
    request: LlmRequest,
    stream = false,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, void> {
    assertStream(stream);
    const failedKeys = new Set<string>();
    let failure: RoutingErrorContext | undefined;
    for (;;) {
      const chosen = await this.#routes.choose(request, failure);
      if (!chosen) throw failure?.lastError;
      const { key, item } = chosen;
      const answers = item.generateContentAsync({ ...request, model: item.model }, stream, abortSignal);
      try {
        const first = await answers.next();
        if (!first.done) yield first.value;
      } catch (lastError) {
        abortSignal?.throwIfAborted();
        failedKeys.add(key);
        failure = { failedKeys, lastError };
        continue;
      }
      yield* answers;
      return;
    }
  }
}

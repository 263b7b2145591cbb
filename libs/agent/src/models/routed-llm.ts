import { assertOptions, type OptionNames } from '@agentmesh/protocol';
import {
  assertStream,
  BaseLlm,
  type LlmRequest,
  type LlmResponse,
  lendContents,
  readContents,
} from '../base/base-llm.ts';
import { asGenerator } from '../events/emit.ts';
import { saysSomething } from '../events/part-data.ts';
import { readAnswer } from './answers/answer.ts';
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
 * Several models as one. A router selects the model; a model that fails before its first output, or whose answer
 * is an error, is replaced by another model. After the first output an error is final, because the output cannot be taken back.
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
   * @throws the error that the model that failed last has thrown; MeshError `invalid_argument` when the router selects a
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
    let lastAnswer: LlmResponse | undefined;
    for (;;) {
      const chosen = await this.#routes.choose(request, failure);
      if (!chosen) {
        if (!lastAnswer) throw failure?.lastError;
        yield lastAnswer;
        return;
      }
      const { key, item } = chosen;
      const options = { stream, signal: abortSignal };
      // A model may change its request, and the next one needs the whole conversation.
      const { toolsDict, config } = request;
      const own = lendContents(
        { model: item.model, config: { ...config }, toolsDict },
        readContents(request),
      );
      const answers = asGenerator<LlmResponse, void>(async (emit) =>
        emit(await readAnswer(item, own, options, emit)),
      );
      const outcome = yield* untilFailure(answers, abortSignal);
      if (!outcome) return;
      failedKeys.add(key);
      lastAnswer = outcome.answer;
      failure = { failedKeys, lastError: outcome.lastError };
    }
  }
}

interface Failure {
  lastError: unknown;
  /** The error as a response of the model; absent when the model threw. */
  answer?: LlmResponse;
}

/**
 * Yields the responses of a model, and returns its failure when it fails before its first output. Thoughts are no
 * output: another model may begin anew after them.
 */
async function* untilFailure(
  answers: AsyncGenerator<LlmResponse, void, void>,
  signal: AbortSignal | undefined,
): AsyncGenerator<LlmResponse, Failure | undefined, void> {
  let hasOutput = false;
  try {
    for await (const answer of answers) {
      const { errorCode, errorMessage, content } = answer;
      if (!hasOutput && errorCode !== undefined)
        return { answer, lastError: new Error(errorMessage ?? errorCode, { cause: answer }) };
      hasOutput ||= !answer.partial || (content?.parts ?? []).some(saysSomething);
      yield answer;
    }
    return undefined;
  } catch (lastError) {
    signal?.throwIfAborted();
    if (hasOutput) throw lastError;
    return { lastError };
  }
}

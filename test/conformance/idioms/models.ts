import {
  BaseLlm,
  type BaseLlmConnection,
  type BaseLlmType,
  Gemini,
  type GeminiParams,
  isBaseLlm,
  LLMRegistry,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
  RoutedLlm,
} from '@google/adk';

export class EchoLlm extends BaseLlm {
  static override readonly supportedModels: Array<string | RegExp> = [/echo-.*/, 'echo'];

  constructor({ model }: { model: string }) {
    super({ model });
  }

  override async *generateContentAsync(
    llmRequest: LlmRequest,
    stream?: boolean,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    abortSignal?.throwIfAborted();
    const text = llmRequest.contents.at(-1)?.parts?.[0]?.text ?? '';
    const tools = Object.keys(llmRequest.toolsDict);
    if (stream) yield { content: { role: 'model', parts: [{ text }] }, partial: true };
    yield {
      content: { role: 'model', parts: [{ text: `${text} ${tools.join()}` }] },
      customMetadata: { instruction: String(llmRequest.config?.systemInstruction) },
      turnComplete: true,
    };
  }

  override async connect(_llmRequest: LlmRequest): Promise<BaseLlmConnection> {
    throw new Error('not live');
  }
}

LLMRegistry.register(EchoLlm);
const type: BaseLlmType = LLMRegistry.resolve('echo-1');
const llm: BaseLlm = LLMRegistry.newLlm('echo-1');
const params: GeminiParams = { model: 'gemini-2.5-flash', apiKey: 'key' };
export const gemini = new Gemini(params);
export const routed = new RoutedLlm({ models: [gemini, llm], router: (models) => Object.keys(models)[0] });
export const agent = new LlmAgent({ name: 'echo', model: new type({ model: 'echo' }) });

export async function ask(request: LlmRequest): Promise<string[]> {
  const words: string[] = [];
  const answers = agent.canonicalModel.generateContentAsync(request, true, AbortSignal.timeout(1_000));
  for await (const { content, errorCode, errorMessage, finishReason, usageMetadata } of answers) {
    words.push(content?.parts?.[0]?.text ?? `${errorCode} ${errorMessage} ${finishReason}`);
    console.log(usageMetadata?.totalTokenCount, isBaseLlm(llm));
  }
  return words;
}

import { MeshError } from '@agentmesh/protocol';
import type {
  Content,
  FunctionCallingConfig,
  FunctionDeclaration,
  GenerateContentConfig,
  Part,
  ThinkingConfig,
} from '@google/genai';
import type OpenAI from 'openai';
import { type LlmRequest, readContents } from '../../base/base-llm.ts';
import { toJsonSchema, toMessages, toTools } from './openai-messages.ts';

type Body = OpenAI.ChatCompletionCreateParams;
type Tools = { tools?: OpenAI.ChatCompletionTool[]; tool_choice?: OpenAI.ChatCompletionToolChoiceOption };
type Writer<K extends keyof GenerateContentConfig> = (
  value: NonNullable<GenerateContentConfig[K]>,
  config: GenerateContentConfig,
) => Partial<Body>;

/**
 * The settings that chat completions take. A setting that is not here is refused by its name: a silent omission would
 * change what the model does.
 */
const writers: { [K in keyof GenerateContentConfig]?: Writer<K> } = {
  systemInstruction: () => ({}),
  abortSignal: () => ({}),
  tools: (_tools, config) => toolsOf(config),
  toolConfig: (_toolConfig, config) => toolsOf(config),
  temperature: (temperature) => ({ temperature }),
  topP: (top_p) => ({ top_p }),
  maxOutputTokens: (max_completion_tokens) => ({ max_completion_tokens }),
  stopSequences: (stop) => ({ stop }),
  seed: (seed) => ({ seed }),
  presencePenalty: (presence_penalty) => ({ presence_penalty }),
  frequencyPenalty: (frequency_penalty) => ({ frequency_penalty }),
  candidateCount: (count) => only(count === 1, `candidateCount ${count}`),
  responseLogprobs: (is) => only(!is, 'responseLogprobs'),
  responseModalities: (all) =>
    only(
      all.every((each) => /^text$/i.test(each)),
      `responseModalities ${all}`,
    ),
  thinkingConfig: effortOf,
  responseMimeType: (type, config) => formatOf(type, config),
  responseSchema: (schema) => jsonSchema(toJsonSchema(schema as Parameters<typeof toJsonSchema>[0])),
  responseJsonSchema: (schema) => jsonSchema(schema as Record<string, unknown>),
};

/**
 * Converts a request to the body of a chat completion.
 *
 * @throws MeshError `invalid_argument` that names what the interface does not take
 */
export function toBody(request: LlmRequest): Body {
  const { model, config } = request;
  try {
    const body: Body = { model, messages: toMessages(readContents(request), systemText(config)) };
    for (const [name, value] of Object.entries(config)) {
      if (value === undefined || value === null) continue;
      const write = writers[name as keyof GenerateContentConfig] as Writer<never> | undefined;
      if (!write) throw new Error(name);
      Object.assign(body, write(value as never, config));
    }
    return body;
  } catch (cause) {
    const what = cause instanceof Error ? cause.message : String(cause);
    throw new MeshError(
      'invalid_argument',
      `the interface of model ${model} does not support ${what}; leave it out, or use a Gemini model`,
      { cause },
    );
  }
}

function only(isDefault: boolean, name: string): Partial<Body> {
  if (isDefault) return {};
  throw new Error(name);
}

function toolsOf({ tools = [], toolConfig = {} }: GenerateContentConfig): Tools {
  const declarations = tools.flatMap((tool) => {
    const { functionDeclarations, ...others } = tool as { functionDeclarations?: FunctionDeclaration[] };
    const [other] = Object.entries(others).find(([, value]) => value !== undefined) ?? [];
    if (other !== undefined) throw new Error(other);
    return functionDeclarations ?? [];
  });
  const { functionCallingConfig = {}, ...others } = toolConfig;
  const [other] = Object.entries(others).find(([, value]) => value !== undefined) ?? [];
  if (other !== undefined) throw new Error(`toolConfig.${other}`);
  const { allowedFunctionNames: allowed } = functionCallingConfig;
  const allowedTools = declarations.filter(({ name = '' }) => !allowed?.length || allowed.includes(name));
  if (allowedTools.length === 0) return {};
  return { tools: toTools(allowedTools), ...choiceOf(functionCallingConfig) };
}

function choiceOf({ mode }: FunctionCallingConfig): Tools {
  if (mode === undefined || mode === 'MODE_UNSPECIFIED' || mode === 'AUTO') return {};
  if (mode === 'ANY') return { tool_choice: 'required' };
  if (mode === 'NONE') return { tool_choice: 'none' };
  throw new Error(`toolConfig.functionCallingConfig.mode ${mode}`);
}

const efforts = { MINIMAL: 'minimal', LOW: 'low', MEDIUM: 'medium', HIGH: 'high' } as const;

/** Servers that have thoughts send them unasked. */
function effortOf({ thinkingBudget, thinkingLevel }: ThinkingConfig): Partial<Body> {
  if (thinkingBudget !== undefined && thinkingBudget !== -1)
    throw new Error(`thinkingConfig.thinkingBudget ${thinkingBudget}: set thinkingLevel`);
  const effort = efforts[thinkingLevel as keyof typeof efforts];
  return effort === undefined ? {} : { reasoning_effort: effort };
}

function formatOf(
  type: string,
  { responseSchema, responseJsonSchema }: GenerateContentConfig,
): Partial<Body> {
  if (type === 'text/plain') return {};
  if (type !== 'application/json') throw new Error(`responseMimeType ${type}`);
  return (responseSchema ?? responseJsonSchema) ? {} : { response_format: { type: 'json_object' } };
}

function jsonSchema(schema: Record<string, unknown>): Partial<Body> {
  return { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } } };
}

/** Returns the text of an instruction, which may be a text, a part, a content, or a list of them. */
function systemText({ systemInstruction }: GenerateContentConfig): string | undefined {
  const texts = [systemInstruction ?? []].flat().flatMap((each): string[] => {
    if (typeof each === 'string') return [each];
    const { parts = [each as Part] } = each as Content;
    return parts.map((part) => {
      if (part.text !== undefined) return part.text;
      throw new Error(`systemInstruction with ${Object.keys(part).join(', ')}`);
    });
  });
  return texts.length === 0 ? undefined : texts.join('\n\n');
}

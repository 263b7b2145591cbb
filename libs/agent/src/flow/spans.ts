import { failSpan, setContent, setFailed, startSpan, underSpan } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import type { Attributes, Span } from '@opentelemetry/api';
import { type BaseLlm, type LlmRequest, type LlmResponse, readContents } from '../base/base-llm.ts';
import type { BaseTool } from '../base/base-tool.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import type { ToolOutcome } from './tool-work.ts';

type Json = Record<string, unknown>;

/** Begins the span of a model call, by OpenTelemetry's conventions for generative AI. */
export function startModelSpan(
  invocation: InvocationContext,
  request: LlmRequest,
  llm: BaseLlm,
): Span | undefined {
  const { model, config } = request;
  const span = startSpan(`chat ${model}`, invocation.carrier, () => ({
    kind: 'client',
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': llm.providerName(),
      'gen_ai.request.model': model,
      ...settingsOf(config),
      ...idsOf(invocation),
    },
  }));
  setContent(span, 'gen_ai.system_instructions', () => config.systemInstruction);
  setContent(span, 'gen_ai.input.messages', () => readContents(request).map(messageOf));
  return span;
}

/** The settings of a request that the conventions name, by the names of their attributes. */
const settings = {
  temperature: 'gen_ai.request.temperature',
  topP: 'gen_ai.request.top_p',
  topK: 'gen_ai.request.top_k',
  maxOutputTokens: 'gen_ai.request.max_tokens',
  stopSequences: 'gen_ai.request.stop_sequences',
  seed: 'gen_ai.request.seed',
  frequencyPenalty: 'gen_ai.request.frequency_penalty',
  presencePenalty: 'gen_ai.request.presence_penalty',
} as const satisfies Partial<Record<keyof LlmRequest['config'], string>>;

/** Returns the attributes of the settings that a request has. */
function settingsOf(config: LlmRequest['config']): Attributes {
  const names = Object.keys(settings) as (keyof typeof settings)[];
  const isJson = config.responseMimeType === 'application/json';
  return {
    ...Object.fromEntries(
      names.flatMap((name) => (config[name] === undefined ? [] : [[settings[name], config[name]]])),
    ),
    ...(isJson && { 'gen_ai.output.type': 'json' }),
  };
}

/** Notes an answer of the model on its span. Pieces of an answer are left out. */
export function noteAnswer(span: Span | undefined, response: LlmResponse): void {
  if (!span || response.partial) return;
  const { modelVersion, usageMetadata, finishReason, errorCode, errorMessage, content } = response;
  const { promptTokenCount, candidatesTokenCount = 0, thoughtsTokenCount = 0 } = usageMetadata ?? {};
  const cached = usageMetadata?.cachedContentTokenCount;
  span.setAttributes({
    ...(modelVersion !== undefined && { 'gen_ai.response.model': modelVersion }),
    ...(finishReason !== undefined && { 'gen_ai.response.finish_reasons': [finishReason] }),
    ...(promptTokenCount !== undefined && { 'gen_ai.usage.input_tokens': promptTokenCount }),
    ...(cached !== undefined && { 'gen_ai.usage.cache_read.input_tokens': cached }),
    ...(usageMetadata && { 'gen_ai.usage.output_tokens': candidatesTokenCount + thoughtsTokenCount }),
  });
  setContent(span, 'gen_ai.output.messages', () => (content ? [messageOf(content)] : []));
  if (errorCode !== undefined) setFailed(span, errorCode, errorMessage);
}

/** Converts a content to a message of OpenTelemetry's conventions. Files are named by their type alone. */
function messageOf({ role = 'user', parts = [] }: Content) {
  return {
    role: role === 'model' ? 'assistant' : role,
    parts: parts.map(({ text, functionCall, functionResponse, inlineData, fileData }) => {
      if (text !== undefined) return { type: 'text', content: text };
      if (functionCall) {
        const { id, name, args } = functionCall;
        return { type: 'tool_call', id, name, arguments: args };
      }
      if (functionResponse) {
        const { id, response } = functionResponse;
        return { type: 'tool_call_response', id, response };
      }
      return { type: 'other', mime_type: inlineData?.mimeType ?? fileData?.mimeType };
    }),
  };
}

/** The span of a tool call, and the context in which the tool runs. */
export interface TracedCall {
  invocation: InvocationContext;
  end(outcome: ToolOutcome): void;
  fail(thrown: unknown): void;
  /** Ends the span of a call that nobody waits for any more; after another end it does nothing. */
  [Symbol.dispose](): void;
}

/** Begins the span of a tool call. Messages that the tool sends are below it. */
export function startToolSpan(
  { name, description }: BaseTool,
  invocation: InvocationContext,
  callId: string | undefined,
  args: Json,
): TracedCall | undefined {
  const span = startSpan(`execute_tool ${name}`, invocation.carrier, () => ({
    kind: 'internal',
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      'gen_ai.tool.description': description,
      'gen_ai.tool.type': 'function',
      ...(callId !== undefined && { 'gen_ai.tool.call.id': callId }),
      ...idsOf(invocation),
    },
  }));
  if (!span) return undefined;
  setContent(span, 'gen_ai.tool.call.arguments', () => args);
  return {
    invocation: invocation.with({ carrier: underSpan({ ...invocation.carrier }, span) }),
    end({ response, failed }) {
      setContent(span, 'gen_ai.tool.call.result', () => response);
      if (failed) setFailed(span, 'tool_error', String(response?.error ?? 'the tool failed'));
    },
    fail: (thrown) => failSpan(span, thrown),
    [Symbol.dispose]: () => span.end(),
  };
}

function idsOf({ agent, session, invocationId, attempt }: InvocationContext) {
  return {
    'gen_ai.agent.name': agent.name,
    'gen_ai.agent.id': agent.name,
    'gen_ai.conversation.id': session.id,
    'agentmesh.app': session.appName,
    'agentmesh.invocation_id': invocationId,
    'agentmesh.attempt': attempt,
  };
}

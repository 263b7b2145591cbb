import type { GenerateContentResponseUsageMetadata, Part } from '@google/genai';
import type { ModelRequest } from './gemini-request.ts';

export interface ScriptedCall {
  name: string;
  args?: Record<string, unknown>;
  id?: string;
}

interface ReplyOptions {
  /** The wait before the first byte, in ms. */
  delayMs?: number;
  /** The wait before each further streamed piece, in ms. */
  chunkDelayMs?: number;
  /** The streamed pieces of the text; by default its words. */
  chunks?: string[];
  /** The number of streamed pieces after which the connection is cut, as by a broken network. */
  cutAfter?: number;
  /** The finish reason; default `STOP`. */
  finishReason?: string;
  /** The token counts; default a rough count of the texts. */
  usage?: GenerateContentResponseUsageMetadata;
}

export interface ScriptedError {
  /** The HTTP status: 429, 503. */
  status: number;
  message: string;
  /** Google's code; by default the code that belongs to the status, such as `RESOURCE_EXHAUSTED`. */
  code?: string;
}

/** The reply of the scripted model: a text, function calls, an error, or no answer at all. */
export type ModelReply = ReplyOptions &
  (
    | { text: string }
    | { chunks: string[] }
    | { calls: ScriptedCall[]; text?: string }
    | { parts: Part[] }
    | { error: ScriptedError }
    | { hang: true }
  );

const statusWords: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

/** Returns an error in Google's form. */
export function errorBody({ status, message, code }: ScriptedError) {
  return { error: { code: status, message, status: code ?? statusWords[status] ?? 'UNKNOWN' } };
}

/** Returns the reply as one response. */
export function responseOf(reply: ModelReply, request: ModelRequest) {
  return responseBody(partsOf(reply), request, endOf(reply, request));
}

/** Returns the reply as the responses of a stream. The last one has the finish reason and the usage. */
export function streamOf(reply: ModelReply, request: ModelRequest) {
  const pieces = piecesOf(reply);
  return pieces.map((parts, at) =>
    responseBody(parts, request, at === pieces.length - 1 ? endOf(reply, request) : {}),
  );
}

interface End {
  finishReason?: string;
  usage?: GenerateContentResponseUsageMetadata;
}

function responseBody(parts: Part[], { model, call }: ModelRequest, { finishReason, usage }: End) {
  return {
    candidates: [{ content: { role: 'model', parts }, ...(finishReason ? { finishReason } : {}), index: 0 }],
    ...(usage ? { usageMetadata: usage } : {}),
    modelVersion: model,
    responseId: `scripted-${call}`,
  };
}

function endOf(reply: ModelReply, request: ModelRequest): End {
  return { finishReason: reply.finishReason ?? 'STOP', usage: reply.usage ?? roughUsage(reply, request) };
}

function partsOf(reply: ModelReply): Part[] {
  if ('parts' in reply) return reply.parts;
  const text = textOf(reply);
  return [...(text ? [{ text }] : []), ...callsOf(reply)];
}

function piecesOf(reply: ModelReply): Part[][] {
  if ('parts' in reply) return reply.parts.length > 0 ? reply.parts.map((part) => [part]) : [[]];
  const texts = reply.chunks ?? textOf(reply).match(/\s*\S+\s*$|\s*\S+/g) ?? [];
  const calls = callsOf(reply);
  const pieces = [...texts.map((text) => [{ text }]), ...(calls.length > 0 ? [calls] : [])];
  return pieces.length > 0 ? pieces : [[]];
}

function textOf(reply: ModelReply): string {
  if ('text' in reply && reply.text !== undefined) return reply.text;
  return reply.chunks?.join('') ?? '';
}

function callsOf(reply: ModelReply): Part[] {
  if (!('calls' in reply)) return [];
  return reply.calls.map(({ name, args = {}, id }) => ({
    functionCall: { ...(id ? { id } : {}), name, args },
  }));
}

function roughUsage(reply: ModelReply, request: ModelRequest): GenerateContentResponseUsageMetadata {
  const promptTokenCount = roughTokens(request);
  const candidatesTokenCount = Math.ceil(JSON.stringify(partsOf(reply)).length / 4);
  return { promptTokenCount, candidatesTokenCount, totalTokenCount: promptTokenCount + candidatesTokenCount };
}

/** Estimates the number of tokens; four characters are about one token. */
export function roughTokens({ contents, systemInstruction = '' }: ModelRequest): number {
  return Math.ceil((JSON.stringify(contents).length + systemInstruction.length) / 4);
}

import type { GenerateContentResponseUsageMetadata, Part } from '@google/genai';
import type { ModelRequest } from './gemini-request.ts';

export interface ScriptedCall {
  name: string;
  args?: Record<string, unknown>;
  id?: string;
}

interface ReplyOptions {
  /** Wait before the first byte, ms. */
  delayMs?: number;
  /** Wait before each further streamed piece, ms. */
  chunkDelayMs?: number;
  /** The streamed pieces of the text; by default its words. */
  chunks?: string[];
  /** Cuts the connection after so many streamed pieces, as a broken network would. */
  cutAfter?: number;
  /** Default `STOP`. */
  finishReason?: string;
  /** Default a rough count of the texts. */
  usage?: GenerateContentResponseUsageMetadata;
}

export interface ScriptedError {
  /** HTTP status: 429, 503. */
  status: number;
  message: string;
  /** Google's word for it; by default the one that goes with the status: `RESOURCE_EXHAUSTED`. */
  code?: string;
}

/** What the scripted model does: speaks, calls functions, fails, or never answers. */
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

/** An error in Google's shape. */
export function errorBody({ status, message, code }: ScriptedError) {
  return { error: { code: status, message, status: code ?? statusWords[status] ?? 'UNKNOWN' } };
}

/** The reply as one response. */
export function responseOf(reply: ModelReply, request: ModelRequest) {
  return responseBody(partsOf(reply), request, endOf(reply, request));
}

/** The reply as the responses of a stream: the end's reason and usage come with the last. */
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

/** Four characters are about a token. */
export function roughTokens({ contents, systemInstruction = '' }: ModelRequest): number {
  return Math.ceil((JSON.stringify(contents).length + systemInstruction.length) / 4);
}

import type { Content, Part } from '@google/genai';
import { z } from 'zod';

const text = z.string().optional();
const record = z.record(z.string(), z.unknown()).optional();

const functionCallSchema = z.looseObject({ id: text, name: text, args: record });
const functionResponseSchema = z.looseObject({ id: text, name: text, response: record });

const storedPartSchema = z.looseObject({
  text,
  functionCall: functionCallSchema.optional(),
  functionResponse: functionResponseSchema.optional(),
});

/**
 * A message of a conversation in the form of `@google/genai`, as logs hold it. Unknown kinds of parts pass through
 * unchanged.
 */
export const contentSchema = z.looseObject({
  role: text,
  parts: z.array(storedPartSchema).optional(),
}) as unknown as z.ZodType<Content>;

const blob = z.looseObject({ data: text, mimeType: text, displayName: text }).optional();
const file = z.looseObject({ fileUri: text, mimeType: text, displayName: text }).optional();
const responseParts = z.array(z.looseObject({ inlineData: blob, fileData: file })).optional();

/**
 * A part that every prompt can show: each known field has the type of `Part` of `@google/genai`. Unknown fields pass
 * through unchanged.
 */
export const partSchema = z.looseObject({
  text,
  thought: z.boolean().optional(),
  thoughtSignature: text,
  inlineData: blob,
  fileData: file,
  functionCall: functionCallSchema.optional(),
  functionResponse: functionResponseSchema.extend({ parts: responseParts }).optional(),
  executableCode: z.looseObject({ code: text, language: text, id: text }).optional(),
  codeExecutionResult: z.looseObject({ outcome: text, output: text, id: text }).optional(),
  toolCall: z.looseObject({ id: text, toolType: text, args: record }).optional(),
  toolResponse: z.looseObject({ id: text, toolType: text, response: record }).optional(),
  videoMetadata: z.looseObject({ startOffset: text, endOffset: text, fps: z.number().optional() }).optional(),
  mediaResolution: z.looseObject({ level: text, numTokens: z.number().optional() }).optional(),
  mediaProcessing: text,
  speechMetadata: z.looseObject({ speaker: text, style: text }).optional(),
  audioTranscription: record,
  partMetadata: record,
} satisfies Record<keyof Part, z.ZodType>);

/** A message from outside: full content, or just its text. */
export const messageSchema: z.ZodType<Content> = z.preprocess(
  (message) => (typeof message === 'string' ? { role: 'user', parts: [{ text: message }] } : message),
  z.looseObject({ role: text, parts: z.array(partSchema).optional() }) as unknown as z.ZodType<Content>,
);

import type { Content } from '@google/genai';
import { z } from 'zod';

const functionCallSchema = z.looseObject({
  id: z.string().optional(),
  name: z.string().optional(),
  args: z.record(z.string(), z.unknown()).optional(),
});

const functionResponseSchema = z.looseObject({
  id: z.string().optional(),
  name: z.string().optional(),
  response: z.record(z.string(), z.unknown()).optional(),
});

const partSchema = z.looseObject({
  text: z.string().optional(),
  functionCall: functionCallSchema.optional(),
  functionResponse: functionResponseSchema.optional(),
});

/**
 * A message of a conversation in the form of `@google/genai`. Unknown kinds of parts pass through unchanged.
 */
export const contentSchema = z.looseObject({
  role: z.string().optional(),
  parts: z.array(partSchema).optional(),
}) as unknown as z.ZodType<Content>;

/** A message from outside: full content, or just its text. */
export const messageSchema: z.ZodType<Content> = z.preprocess(
  (message) => (typeof message === 'string' ? { role: 'user', parts: [{ text: message }] } : message),
  contentSchema,
);

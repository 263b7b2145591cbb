import { contentSchema, eventSchema, messageSchema, pendingReplySchema } from '@agentmesh/protocol';
import { z } from 'zod';

// Answers are open: a later version may add fields.
const record = z.record(z.string(), z.unknown());

/** The body of every refusal and failure. */
export const errorAnswer = z.looseObject({
  error: z.string().describe('what went wrong, and what to do'),
  code: z.string().describe('a code of the table of errors'),
  details: record.optional(),
  traceId: z.string(),
  invocationId: z.string().optional(),
});

export const sessionAnswer = z.looseObject({
  id: z.string(),
  appName: z.string(),
  userId: z.string(),
  state: record,
  events: z.array(eventSchema),
  lastUpdateTime: z.number().describe('in s since 1970'),
});

export const eventsPage = z.looseObject({
  events: z.array(z.looseObject({ seq: z.number().int(), event: eventSchema })),
  lastSeq: z.number().int().describe("number of the session's last event"),
});

export const invocationAnswer = z.looseObject({
  invocationId: z.string(),
  resume: z.string().optional(),
  status: z.enum(['waiting', 'running', 'completed', 'failed', 'cancelled']),
  llmCalls: z.number().int().optional(),
  lastSeq: z.number().int(),
  error: z.looseObject({ code: z.string(), message: z.string() }).optional(),
  cancelled: z.string().optional(),
});

export const artifactVersion = z.looseObject({
  version: z.number().int(),
  canonicalUri: z.string(),
  mimeType: z.string(),
  size: z.number().int().describe('in bytes'),
  createTime: z.number().describe('in ms since 1970'),
  customMetadata: record,
});

/** An artifact as a Part of `@google/genai`: text, or bytes in base64, or an address. */
export const artifactPart = z.looseObject({
  text: z.string().optional(),
  inlineData: z.looseObject({ data: z.string().optional(), mimeType: z.string().optional() }).optional(),
  fileData: z.looseObject({ fileUri: z.string().optional(), mimeType: z.string().optional() }).optional(),
});

const appDescription = {
  name: z.string(),
  rootAgentName: z.string(),
  description: z.string(),
  language: z.string(),
  isComputerUse: z.boolean(),
};
export const appsAnswer = z.union([
  z.array(z.string()),
  z.looseObject({ apps: z.array(z.looseObject(appDescription)) }),
]);
export const appInfoAnswer = z.looseObject({ ...appDescription, agents: record });

const memory = z.looseObject({
  id: z.string().optional(),
  content: contentSchema,
  author: z.string().optional(),
  timestamp: z.string().optional(),
  sessionId: z.string().optional(),
  score: z.number().optional(),
});
export const memoriesAnswer = z.looseObject({
  memories: z.array(memory),
  next: z.string().optional().describe('`after` of the next page; absent on the last page'),
});

const count = z.number().int();
export const deletedUserAnswer = z.looseObject({
  ...{ sessions: count, events: count, artifacts: count, memories: count, credentials: count },
  ...{ pending: count, callResults: count, stateKeys: count },
  complete: z.boolean(),
});

export const drawing = z.looseObject({ dotSrc: z.string().optional() });

/** The schemas that the document names, so that each stands in it once. */
export const components: Readonly<Record<string, z.ZodType>> = {
  Error: errorAnswer,
  Event: eventSchema,
  Content: contentSchema,
  Message: messageSchema,
  Session: sessionAnswer,
  Invocation: invocationAnswer,
  PendingCall: pendingReplySchema.shape.pending.element,
  ArtifactVersion: artifactVersion,
};

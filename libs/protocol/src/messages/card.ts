import { z } from 'zod';
import { agentNameSchema, toolNameSchema } from '../names/names.ts';

/** A schema as function declarations have it (`Schema` of `@google/genai`: OpenAPI 3, types in capitals). */
const schema = z.record(z.string(), z.unknown());

/** What an agent tells the mesh about itself. */
export const agentCardSchema = z.object({
  kind: z.literal('agent'),
  name: agentNameSchema,
  description: z.string().default(''),
  version: z.string().default('0.0.0'),
  /** Does a model drive it? Only then can its sub-agents give the conversation back to it. */
  llm: z.boolean().default(true),
  /** The app whose root agent this is. */
  app: z.string().min(1).optional(),
  /** May answers continue the invocations of the app that asked? */
  resumable: z.boolean().default(false),
  subAgents: z.array(agentNameSchema).default([]),
  /** Names of its own tools, agents that it uses as tools among them; a toolset's are known at run time only. */
  tools: z.array(z.string()).default([]),
  /** What it tells all agents below it to do, when that is a text. */
  globalInstruction: z.string().optional(),
  disallowTransferToParent: z.boolean().default(false),
  disallowTransferToPeers: z.boolean().default(false),
  /** What an ask of this agent must hold, as JSON text, when it is not plain text. */
  inputSchema: schema.optional(),
  /** What its answer is, when it is not plain text. */
  outputSchema: schema.optional(),
});

/** What a tool tells the mesh about itself. */
export const toolCardSchema = z.object({
  kind: z.literal('tool'),
  name: toolNameSchema,
  description: z.string().default(''),
  version: z.string().default('0.0.0'),
  /** Function declaration as the model gets it (`@google/genai`). */
  declaration: z.looseObject({ name: toolNameSchema, description: z.string().optional() }),
  longRunning: z.boolean().default(false),
  /** How long an answer from outside to a call is waited for, in ms; absent for ever. */
  answerWithinMs: z.number().int().min(1).optional(),
});

export const cardSchema = z.discriminatedUnion('kind', [agentCardSchema, toolCardSchema]);

export type AgentCard = z.infer<typeof agentCardSchema>;
export type ToolCard = z.infer<typeof toolCardSchema>;
export type Card = z.infer<typeof cardSchema>;
/** A card as it may be written: what has a default may be left out. */
export type CardInput = z.input<typeof cardSchema>;

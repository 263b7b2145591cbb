import { z } from 'zod';
import { agentNameSchema, toolNameSchema } from '../names/names.ts';

/** A schema as in function declarations (`Schema` of `@google/genai`: OpenAPI 3, types in capitals). */
const schema = z.record(z.string(), z.unknown());

/** The card of an agent. */
export const agentCardSchema = z.object({
  kind: z.literal('agent'),
  name: agentNameSchema,
  description: z.string().default(''),
  version: z.string().default('0.0.0'),
  /**
   * Tells whether a model drives the agent. Only then can its sub-agents transfer the conversation back to
   * it.
   */
  llm: z.boolean().default(true),
  /** The app whose root agent this is. */
  app: z.string().min(1).optional(),
  /** Tells whether an answer may continue the invocation that asked the question. */
  resumable: z.boolean().default(false),
  subAgents: z.array(agentNameSchema).default([]),
  /**
   * The names of its tools, including agents used as tools. The tools of a toolset are known only at run
   * time.
   */
  tools: z.array(z.string()).default([]),
  /** The agent's instruction for all agents below it, when that instruction is a text. */
  globalInstruction: z.string().optional(),
  disallowTransferToParent: z.boolean().default(false),
  disallowTransferToPeers: z.boolean().default(false),
  /** The schema of the message of an ask, which is then JSON text; absent for plain text. */
  inputSchema: schema.optional(),
  /** The schema of its answer; absent for plain text. */
  outputSchema: schema.optional(),
});

/** The card of a tool. */
export const toolCardSchema = z.object({
  kind: z.literal('tool'),
  name: toolNameSchema,
  description: z.string().default(''),
  version: z.string().default('0.0.0'),
  /** The function declaration that the model gets (`@google/genai`). */
  declaration: z.looseObject({ name: toolNameSchema, description: z.string().optional() }),
  longRunning: z.boolean().default(false),
  /** The longest wait for the outcome of a call, in ms; absent for no limit. */
  answerWithinMs: z.number().int().min(1).optional(),
});

export const cardSchema = z.discriminatedUnion('kind', [agentCardSchema, toolCardSchema]);

export type AgentCard = z.infer<typeof agentCardSchema>;
export type ToolCard = z.infer<typeof toolCardSchema>;
export type Card = z.infer<typeof cardSchema>;
/** A card before its defaults are filled in. */
export type CardInput = z.input<typeof cardSchema>;

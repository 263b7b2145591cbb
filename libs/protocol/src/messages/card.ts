import { z } from 'zod';
import { agentNameSchema, toolNameSchema } from '../names/names.ts';
import { assertKnownFields } from '../parsing/known-fields.ts';
import { parse } from '../parsing/parse.ts';

/**
 * The limits of texts that reach the prompts of other services, in characters: of a description, of an
 * instruction, and of a schema or a declaration as JSON.
 */
const maxDescription = 8_000;
const maxInstruction = 32_000;
const maxDeclaration = 64_000;
const tooLong = `has at most ${maxDeclaration} characters as JSON`;
const fits = (declaration: object) => JSON.stringify(declaration).length <= maxDeclaration;

/** A schema as in function declarations (`Schema` of `@google/genai`: OpenAPI 3, types in capitals). */
const schema = z.record(z.string(), z.unknown()).refine(fits, tooLong);
const description = z.string().max(maxDescription);
const globalInstruction = z.string().max(maxInstruction);

/** The card of an agent. */
export const agentCardSchema = z.object({
  kind: z.literal('agent'),
  name: agentNameSchema,
  description: description.default(''),
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
  globalInstruction: globalInstruction.optional(),
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
  description: description.default(''),
  version: z.string().default('0.0.0'),
  /** The function declaration that the model gets (`@google/genai`). */
  declaration: z
    .looseObject({ name: toolNameSchema, description: z.string().optional() })
    .refine(fits, tooLong),
  longRunning: z.boolean().default(false),
  /** Tells whether the tool uses files of sessions and users, so that its callers note its calls. */
  usesArtifacts: z.boolean().default(false),
  /** Tells whether the tool uses credentials of users, so that its callers note its calls. */
  usesCredentials: z.boolean().default(false),
  /** The longest wait for the outcome of a call, in ms; absent for no limit. */
  answerWithinMs: z.number().int().min(1).optional(),
});

export const cardSchema = z.discriminatedUnion('kind', [agentCardSchema, toolCardSchema]);

export type AgentCard = z.infer<typeof agentCardSchema>;
export type ToolCard = z.infer<typeof toolCardSchema>;
export type Card = z.infer<typeof cardSchema>;
/** A card before its defaults are filled in. */
export type CardInput = z.input<typeof cardSchema>;

/** The form in which a process of the mesh stores its card. A program without agentmesh names no replica. */
export type StoredCard = CardInput & { replica?: string };

/**
 * Reads a stored card. Unknown fields are refused in the card of a program without agentmesh, and dropped in
 * the card of a process of the mesh, which may be of a newer version.
 *
 * @throws MeshError `invalid_argument` that names what is wrong
 */
export function readCard(stored: unknown, what: string): Card {
  const card = parse(cardSchema, stored, what);
  const isOfMesh = typeof stored === 'object' && stored !== null && 'replica' in stored;
  if (!isOfMesh) assertKnownFields(card.kind === 'agent' ? agentCardSchema : toolCardSchema, stored, what);
  return card;
}

/**
 * The record of an agent for which the mesh was provisioned. The operator writes it; services believe it, and
 * believe a card only within it.
 */
export const provisionedSchema = z.object({
  name: agentNameSchema,
  /** The app whose root the agent is; absent if the provisioning step does not know it. */
  app: z.string().min(1).optional(),
  /** The agents in other processes to which it may transfer. */
  subAgents: z.array(agentNameSchema),
  /** The description that other services show to their models; absent for the description of the card. */
  description: description.optional(),
  /** The instruction for all agents below it, when it is a text. */
  globalInstruction: globalInstruction.optional(),
});
export type Provisioned = z.infer<typeof provisionedSchema>;

import type {
  CitationMetadata,
  Content,
  FinishReason,
  GenerateContentResponseUsageMetadata,
  GroundingMetadata,
} from '@google/genai';
import { z } from 'zod';
import { contentSchema } from './content.ts';

const record = z.record(z.string(), z.unknown());

/**
 * The origin of a question of an agent that is used as a tool: the agents from the called agent down to the
 * asking agent, and the call of the asking agent.
 */
const withinSchema = z.object({
  agents: z.array(z.string()),
  call: z.object({ name: z.string(), args: record }),
});

/** The people who may answer a confirmation. */
export const confirmableBySchema = z.strictObject({
  /** Only a person with one of these roles. */
  roles: z.array(z.string().min(1).max(256)).min(1).max(256).optional(),
  /** Not the user of the session. */
  notByAsker: z.boolean().optional(),
});
export type ConfirmableBy = z.infer<typeof confirmableBySchema>;

/** A request for a person's confirmation of a tool call, or the answer to it. */
export const toolConfirmationSchema = z.object({
  hint: z.string().optional(),
  confirmed: z.boolean(),
  payload: z.unknown().optional(),
  /** The time limit for the answer, in ms from the question on. */
  answerWithinMs: z.number().int().min(1).optional(),
  /** In a request: the JSON schema that the payload of the answer must match. */
  payloadSchema: record.optional(),
  /** In a request: the people who may answer; default: everybody who may write to the session. */
  confirmableBy: confirmableBySchema.optional(),
  within: withinSchema.optional(),
});
export type ToolConfirmation = z.infer<typeof toolConfirmationSchema>;

/** A tool's request for input of a person. */
export const inputRequestSchema = z.object({
  message: z.string(),
  /** Data for the program that shows the question. */
  payload: z.unknown().optional(),
  /** The JSON schema that the answer must match. */
  responseSchema: record.optional(),
  within: withinSchema.optional(),
});
export type InputRequest = z.infer<typeof inputRequestSchema>;

/**
 * A summary that replaces the beginning of a session in the prompts of its agents. The names come from ADK
 * for Python, except the last two.
 */
export interface EventCompaction {
  /** The time of the first summarized event, in epoch ms. */
  startTimestamp: number;
  /** The time of the last summarized event, in epoch ms. */
  endTimestamp: number;
  compactedContent: string;
  /** The sequence number of the last summarized event. */
  throughSeq: number;
  /** The agent whose prompts use the summary; absent for all agents of the app. */
  agent?: string;
}

/** The effects of an event besides its content. The names are ADK's. */
export interface EventActions {
  /**
   * Tells whether the function responses of this event are the answer; the model is then not asked to put
   * them into words.
   */
  skipSummarization?: boolean;
  /**
   * The state changes, committed with the event. The prefixes `app:`, `user:` and `temp:` name the scope; no
   * prefix means the session.
   */
  stateDelta: Record<string, unknown>;
  /** The versions saved in this step, by file name. */
  artifactDelta: Record<string, number>;
  /** The agent that gets the conversation, in the same invocation. */
  transferToAgent?: string;
  /** Tells whether to end the nearest loop. */
  escalate?: boolean;
  requestedAuthConfigs: Record<string, unknown>;
  /** The confirmations that a person must give, by function-call id. */
  requestedToolConfirmations: Record<string, ToolConfirmation>;
  /** The inputs that a person must give, by function-call id; absent when there are none. */
  requestedInputs?: Record<string, InputRequest>;
  compaction?: EventCompaction;
  /**
   * The invocation before which the conversation continues. The events from that invocation up to this event
   * no longer count.
   */
  rewindBeforeInvocationId?: string;
  /** The sequence number of that invocation's first event, at which the events that no longer count begin. */
  rewindFromSeq?: number;
  /** The ids of calls that were pending and are so no longer. */
  closedCalls?: string[];
  agentState?: Record<string, unknown>;
  endOfAgent?: boolean;
}

/** An event, the only durable record of a conversation. Fields and casing are ADK's. */
export interface Event {
  id: string;
  invocationId: string;
  /** `user`, or the name of the agent. */
  author?: string;
  /** The time of the event, in epoch ms. */
  timestamp: number;
  actions: EventActions;
  content?: Content;
  /** The ids of the function calls in this event that stay pending until somebody answers. */
  longRunningToolIds?: string[];
  /**
   * The branch, a path with dots, which hides parallel agents from each other; absent for events that all
   * agents see.
   */
  branch?: string;
  /** Tells whether the event is a streamed piece, which is never stored. */
  partial?: boolean;
  turnComplete?: boolean;
  interrupted?: boolean;
  errorCode?: string;
  errorMessage?: string;
  finishReason?: FinishReason;
  usageMetadata?: GenerateContentResponseUsageMetadata;
  groundingMetadata?: GroundingMetadata;
  citationMetadata?: CitationMetadata;
  /** The path of the workflow agents, with rounds, from which the event comes. */
  nodeInfo?: { path?: string };
  /** Any further data; `mesh:replica` names the process that authored the event, `mesh:version` its version, `mesh:trace` its span. */
  customMetadata?: Record<string, unknown>;
  modelVersion?: string;
}

/** The key in `customMetadata` under which the mesh notes the authoring replica. */
export const replicaKey = 'mesh:replica';

/** The key in `customMetadata` under which the mesh notes the version of the authoring agent, if it has one. */
export const versionKey = 'mesh:version';

/**
 * The key in `customMetadata` of the {@link AttemptMark} on the first event of an attempt at a run. A first attempt
 * that did not wait has no mark.
 */
export const attemptKey = 'mesh:attempt';

/** The begin of an attempt at a run. Times are epoch ms. */
export interface AttemptMark {
  /** Counted from 1. */
  number: number;
  began: number;
  /** The begin of the wait for the session, or for the share of the user; absent for a run that did not wait. */
  waitsSince?: number;
}

const attemptSchema = z.object({
  number: z.number().int().min(1),
  began: z.number(),
  waitsSince: z.number().optional(),
});

/** Reads the mark of an event; undefined without one, or for one that has another form. */
export function attemptOf({ customMetadata }: Pick<Event, 'customMetadata'>): AttemptMark | undefined {
  const { success, data } = attemptSchema.safeParse(customMetadata?.[attemptKey]);
  if (!success) return undefined;
  const { number, began, waitsSince } = data;
  return { number, began, ...(waitsSince !== undefined && { waitsSince }) };
}

/**
 * The key in `customMetadata` under which the mesh notes the `traceparent` of the span that made the event. Only
 * processes that record spans note it.
 */
export const traceKey = 'mesh:trace';

/** The key in `customMetadata` for the step mark: the meaning of an event for the agent's next step. */
export const stepKey = 'mesh:step';

const compactionSchema = z.object({
  startTimestamp: z.number(),
  endTimestamp: z.number(),
  compactedContent: z.string(),
  throughSeq: z.number().int().min(0),
  agent: z.string().optional(),
});

const actionFields = {
  stateDelta: record.default({}),
  artifactDelta: z.record(z.string(), z.number().int().min(0)).default({}),
  requestedAuthConfigs: record.default({}),
  requestedToolConfirmations: z.record(z.string(), toolConfirmationSchema).default({}),
  requestedInputs: z.record(z.string(), inputRequestSchema).optional(),
  skipSummarization: z.boolean().optional(),
  transferToAgent: z.string().optional(),
  escalate: z.boolean().optional(),
  compaction: compactionSchema.optional(),
  rewindBeforeInvocationId: z.string().min(1).optional(),
  rewindFromSeq: z.number().int().min(1).optional(),
  closedCalls: z.array(z.string()).optional(),
  agentState: record.optional(),
  endOfAgent: z.boolean().optional(),
};
const actionsSchema = z.looseObject(actionFields);

/** The schema of the actions in the reply of a program without agentmesh, whose unknown fields are refused. */
export const givenActionsSchema = z.strictObject(actionFields);

/** The schema of a tool's actions on the wire. Absent maps become empty maps. */
export const eventActionsSchema = actionsSchema as unknown as z.ZodType<EventActions>;

/** The time farthest from 1970 that a JavaScript date holds, in ms. */
const latestMs = 8.64e15;
const ofDate = `must be a time that a date holds, in ms since 1970: at most ${latestMs}`;

/**
 * The schema of an event on the wire and in storage. Unknown fields pass through, so that a newer version may
 * write them.
 */
export const eventSchema = z.looseObject({
  id: z.string().min(1),
  invocationId: z.string(),
  author: z.string().optional(),
  timestamp: z.number().min(-latestMs, ofDate).max(latestMs, ofDate),
  actions: actionsSchema,
  content: contentSchema.optional(),
  longRunningToolIds: z.array(z.string()).optional(),
  branch: z.string().optional(),
  partial: z.boolean().optional(),
  nodeInfo: z.object({ path: z.string().optional() }).optional(),
  customMetadata: record.optional(),
}) as unknown as z.ZodType<Event>;

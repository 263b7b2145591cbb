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

/** Where an agent that is used as a tool asks: the agents from the one that was called on, and the call that one of them wants to make. */
const withinSchema = z.object({
  agents: z.array(z.string()),
  call: z.object({ name: z.string(), args: record }),
});

/** An answer to, or a request for, a person's confirmation of a tool call. */
export const toolConfirmationSchema = z.object({
  hint: z.string().optional(),
  confirmed: z.boolean(),
  payload: z.unknown().optional(),
  /** How long the answer is waited for, in ms from the question on. */
  answerWithinMs: z.number().int().min(1).optional(),
  /** Of a request: the JSON schema that the payload of the answer must fit. */
  payloadSchema: record.optional(),
  within: withinSchema.optional(),
});
export type ToolConfirmation = z.infer<typeof toolConfirmationSchema>;

/** What a tool asks a person to tell it. */
export const inputRequestSchema = z.object({
  message: z.string(),
  /** Anything that whoever shows the question may need. */
  payload: z.unknown().optional(),
  /** The JSON schema that the answer must fit. */
  responseSchema: record.optional(),
  within: withinSchema.optional(),
});
export type InputRequest = z.infer<typeof inputRequestSchema>;

/** A summary that stands for the beginning of a session in the prompts of its agents. The names are those of ADK for Python, but for the last two. */
export interface EventCompaction {
  /** Of the first and the last event that were summarized, epoch ms. */
  startTimestamp: number;
  endTimestamp: number;
  compactedContent: string;
  /** Number in the session of the last event that it stands for. */
  throughSeq: number;
  /** The agent whose prompts it is for; absent for all of the app. */
  agent?: string;
}

/** What an event does beside saying something. The names are ADK's. */
export interface EventActions {
  /** The function responses of this event are the answer; the model is not asked to put them into words. */
  skipSummarization?: boolean;
  /** State changes, committed with the event; `app:`, `user:`, `temp:` prefixes name the scope, none is the session. */
  stateDelta: Record<string, unknown>;
  /** File name → version saved in this step. */
  artifactDelta: Record<string, number>;
  /** The conversation goes to this agent, in the same invocation. */
  transferToAgent?: string;
  /** Ends the nearest loop. */
  escalate?: boolean;
  requestedAuthConfigs: Record<string, unknown>;
  /** Function-call id → what a person must confirm. */
  requestedToolConfirmations: Record<string, ToolConfirmation>;
  /** Function-call id → what a person must tell; absent where nothing is asked. */
  requestedInputs?: Record<string, InputRequest>;
  compaction?: EventCompaction;
  /** The conversation goes on as it was before that invocation: what lies between counts no more. */
  rewindBeforeInvocationId?: string;
  /** Number in the session of that invocation's first event: what lies between begins there. */
  rewindFromSeq?: number;
  /** Calls that waited for an answer, and wait no longer. */
  closedCalls?: string[];
  agentState?: Record<string, unknown>;
  endOfAgent?: boolean;
}

/** The only durable record: who said or did what. Fields and casing are ADK's; `timestamp` is epoch milliseconds. */
export interface Event {
  id: string;
  invocationId: string;
  /** `user`, or the name of the agent. */
  author?: string;
  /** Epoch ms. */
  timestamp: number;
  actions: EventActions;
  content?: Content;
  /** Ids of the function calls in this event that stay open until somebody answers. */
  longRunningToolIds?: string[];
  /** Dot path that hides parallel siblings from each other; absent means visible to all. */
  branch?: string;
  /** A streamed piece; never stored. */
  partial?: boolean;
  turnComplete?: boolean;
  interrupted?: boolean;
  errorCode?: string;
  errorMessage?: string;
  finishReason?: FinishReason;
  usageMetadata?: GenerateContentResponseUsageMetadata;
  groundingMetadata?: GroundingMetadata;
  citationMetadata?: CitationMetadata;
  /** Which run of which agent of a workflow it comes from. */
  nodeInfo?: { path?: string };
  /** Free map; `mesh:replica` names the process that authored the event. */
  customMetadata?: Record<string, unknown>;
  modelVersion?: string;
}

/** Key in `customMetadata` under which the mesh notes the authoring replica. */
export const replicaKey = 'mesh:replica';

/** Key in `customMetadata` under which an agent's flow notes what an event means for its next step. */
export const stepKey = 'mesh:step';

const compactionSchema = z.object({
  startTimestamp: z.number(),
  endTimestamp: z.number(),
  compactedContent: z.string(),
  throughSeq: z.number().int().min(0),
  agent: z.string().optional(),
});

const actionsSchema = z.looseObject({
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
});

/** Reads a tool's actions from the wire; absent maps become empty ones. */
export const eventActionsSchema = actionsSchema as unknown as z.ZodType<EventActions>;

/** Reads an event from the wire or from storage. Unknown fields pass through: a newer writer is not an error. */
export const eventSchema = z.looseObject({
  id: z.string().min(1),
  invocationId: z.string(),
  author: z.string().optional(),
  // What a date can hold.
  timestamp: z.number().min(-8.64e15).max(8.64e15),
  actions: actionsSchema,
  content: contentSchema.optional(),
  longRunningToolIds: z.array(z.string()).optional(),
  branch: z.string().optional(),
  partial: z.boolean().optional(),
  nodeInfo: z.object({ path: z.string().optional() }).optional(),
  customMetadata: record.optional(),
}) as unknown as z.ZodType<Event>;

import { z } from 'zod';
import { isToken, maxTokenLength } from '../names/token.ts';
import { messageSchema } from './content.ts';
import { eventActionsSchema, eventSchema, toolConfirmationSchema } from './event.ts';

const record = z.record(z.string(), z.unknown());
/** A name or id that becomes part of a subject or a key. */
const id = z
  .string()
  .min(1)
  .refine(
    isToken,
    `must be well-formed and at most ${maxTokenLength} characters, fewer if they are not letters or digits`,
  );
const callId = z.string().min(1).max(256);

/** How one invocation runs. */
export const runConfigSchema = z.object({
  /** Model calls in the whole invocation; 0 or less is no limit. */
  maxLlmCalls: z.number().int().max(Number.MAX_SAFE_INTEGER).default(500),
  /** Tokens of all model calls in the whole invocation, in and out, as models count them; 0 or less is no limit. */
  maxTokens: z.number().int().max(Number.MAX_SAFE_INTEGER).default(0),
  /** `sse`: pieces of the answer are published as partial events. */
  streamingMode: z.enum(['none', 'sse']).default('none'),
  /** The client makes the tool calls: the run ends with them, and goes on when their function responses come. */
  pauseOnToolCalls: z.boolean().default(false),
  /** A plain "yes" or "no" of the user answers the confirmation that the turn before asked for. */
  plainTextToolConfirmation: z.boolean().default(false),
  /** Files in the user's message are kept as artifacts; the message then names them. */
  saveInputBlobsAsArtifacts: z.boolean().default(false),
});
export type RunConfig = z.infer<typeof runConfigSchema>;

/** What a run does when another one is at work in its session: wait its turn, give up at once, or have the other one cancelled. */
export const whenBusySchema = z.enum(['enqueue', 'reject', 'interrupt']);

/** Who answered what an agent asked: `by` names the person, `via` the door that the answer came through, such as `rest`. */
export const answeredBySchema = z.object({ by: z.string().min(1).max(256), via: z.string().min(1).max(64) });
export type AnsweredBy = z.infer<typeof answeredBySchema>;

/**
 * A run command: a new message for an agent (hop 0), or the next hop of an invocation after a transfer. All but the message
 * may be left out at the edge: it then starts an invocation of its own in a fresh anonymous session.
 */
export const runCommandSchema = z.object({
  invocationId: id.optional(),
  /** The message answers what the invocation asked, and the invocation goes on. Made for this continuation alone: it is known again by it. */
  resume: id.optional(),
  hop: z.number().int().min(0).default(0),
  app: id.optional(),
  user: id.default('anonymous'),
  session: id.optional(),
  /** Absent on hops after a transfer. */
  message: messageSchema.optional(),
  stateDelta: record.optional(),
  runConfig: runConfigSchema.prefault({}),
  whenBusy: whenBusySchema.default('enqueue'),
  /** Who gave the answers in the message; noted in its event. */
  answeredBy: answeredBySchema.optional(),
});
export type RunCommand = z.infer<typeof runCommandSchema>;
export type RunCommandInput = z.input<typeof runCommandSchema>;

/** The session whose files are worked with, where it is not the one that is named: within a call, the caller's. */
const artifactSessionSchema = id.optional();

/** The call on whose behalf an agent is asked: the child session belongs to it. */
const parentSchema = z.object({
  artifactSession: artifactSessionSchema,
  app: id,
  user: id,
  session: id,
  invocationId: id,
  agent: z.string(),
  callId: id,
});

/** Where a step stands whose events its asker commits. */
const heldSchema = z.object({
  /** The asker's attempt, and the numbers of the requests. */
  part: z.array(z.number().int().min(0)).min(2),
  /** Events that the asker has heard and not committed, each with the number of the last committed one before it. */
  uncommitted: z.array(
    z.object({
      event: eventSchema,
      afterSeq: z.number().int().min(0),
      /** Code of the user's has kept it back: only its own agent sees it, until its turn ends. */
      isKeptBack: z.boolean().optional(),
    }),
  ),
  /** Events that were changed before they were committed, as they came. */
  originals: z.array(eventSchema),
  /** State that uncommitted events have written. */
  state: record,
});

/** The place in a session at which an agent is a step of another one's workflow. */
const stepSchema = z.object({
  artifactSession: artifactSessionSchema,
  app: id,
  user: id,
  session: id,
  invocationId: id,
  branch: z.string().optional(),
  /** The run of the workflow that the step is; its events bear it. */
  path: z.string().optional(),
  /** Number of events in the session before the step: its own come after them. */
  journalStart: z.number().int().min(0),
  /** Number of events that the asker knows: what the step has committed since, in an attempt before this one, is told again. */
  afterSeq: z.number().int().min(0).default(Number.MAX_SAFE_INTEGER),
  /** The asker commits the events, and asks for each step of the agent anew. */
  held: heldSchema.optional(),
});

/** An ask: the agent as a tool, or as a step of a workflow agent. A bare `{ "message": "text" }` is one too. */
export const askSchema = z.object({
  message: messageSchema,
  /** Who asks, when it is a call of another agent. */
  parent: parentSchema.optional(),
  /** What a person said to the question that the agent had asked within this call: it goes on with that. */
  confirmation: toolConfirmationSchema.optional(),
  /** What a person told it, when it had asked for that. */
  input: z.unknown().optional(),
  /** Where it is a step: it works in that session itself. */
  step: stepSchema.optional(),
  /** First state of the child session. */
  state: record.optional(),
  app: id.optional(),
  user: id.default('anonymous'),
  session: id.optional(),
  runConfig: runConfigSchema.prefault({}),
});
export type Ask = z.infer<typeof askSchema>;
export type AskInput = z.input<typeof askSchema>;

/** What an ask answers. */
export const answerSchema = z.object({
  text: z.string(),
  /** What the words mean, of an agent with an output schema. */
  output: z.unknown().optional(),
  invocationId: z.string(),
  app: z.string(),
  user: z.string(),
  session: z.string(),
  /** Session-scope state that the agent changed; the caller decides whether to take it over. */
  stateDelta: record.default({}),
  artifactDelta: z.record(z.string(), z.number()).default({}),
  /** Calls that wait for an answer from outside: the words are not the last then. */
  openCalls: z.array(z.object({ id: z.string(), name: z.string(), args: record })).optional(),
  /** Of a step whose asker commits the events: it has not ended, and goes on with the next request. */
  more: z.boolean().optional(),
});
export type Answer = z.infer<typeof answerSchema>;

/** A call of a tool. A bare `{ "args": { … } }` is one too. */
export const toolCallSchema = z.object({
  /** Function-call id: a repeated call of the same id gets the first one's result. */
  callId: callId.optional(),
  /** Id of the event that made the call. */
  callEventId: z.string().optional(),
  /** How many questions that the call asked people were answered: with each answer it is made anew. */
  answers: z.number().int().min(0).default(0),
  /** What a person said to the call, when it had asked for confirmation. */
  toolConfirmation: toolConfirmationSchema.optional(),
  /** What a person told the call, when it had asked for that. */
  inputResponse: z.unknown().optional(),
  args: record.default({}),
  context: z
    .object({
      artifactSession: artifactSessionSchema,
      app: z.string(),
      user: z.string(),
      session: z.string(),
      invocationId: z.string(),
      agent: z.string(),
      /** The state the tool may read, all scopes, as the caller sees it. */
      state: record.default({}),
      userContent: messageSchema.optional(),
      /** Where updates of the call are published. */
      operationSubject: z.string().optional(),
    })
    .optional(),
});
export type ToolCall = z.infer<typeof toolCallSchema>;
export type ToolCallInput = z.input<typeof toolCallSchema>;

/** What a tool answers: its result, and what it did beside (state, transfer, …). */
export const toolResultSchema = z.object({
  /** Absent when a long-running tool has no first result. */
  response: z.unknown().optional(),
  /** The tool worked until its end: nobody else will answer the call of a long-running one. */
  isLastWord: z.boolean().optional(),
  /** It failed: why, for the callbacks of the agent that called. The response says it in words. */
  failed: z.object({ code: z.string().optional(), message: z.string() }).optional(),
  actions: eventActionsSchema.optional(),
});
export type ToolResult = z.infer<typeof toolResultSchema>;

/** The last message on an invocation's event subject. */
export const invocationEndSchema = z.object({
  /** Which run of the invocation has ended: the one that continued it by this id; absent, the one that began it. */
  resume: z.string().optional(),
  status: z.enum(['completed', 'failed']),
  /** Seq of the invocation's last committed event. */
  lastSeq: z.number().int().min(0),
  error: z.object({ code: z.string(), message: z.string(), details: record.optional() }).optional(),
});
export type InvocationEnd = z.infer<typeof invocationEndSchema>;

/** What all who work on an invocation are told when it shall end. */
export const cancelSchema = z.object({ reason: z.string().max(1_000).default('somebody cancelled it') });

/** A run that waits in its session's queue: what to publish when it is its turn. */
export const waitingRunSchema = z.object({
  agent: z.string(),
  command: runCommandSchema.required({ invocationId: true, app: true, session: true }),
  headers: z.record(z.string(), z.string()),
  /** Key of the message that brought it into the queue: each publication of its turn is told apart by it. */
  from: z.string(),
});
export type WaitingRun = z.infer<typeof waitingRunSchema>;

/** A message that could not be worked on. */
export const deadLetterSchema = z.object({
  /** Where it was. */
  subject: z.string(),
  /** The message, as far as it could be read. */
  payload: z.unknown(),
  headers: z.record(z.string(), z.string()),
  error: z.object({ code: z.string(), message: z.string() }),
  /** How often it was delivered. */
  attempts: z.number().int(),
  /** Who gave up, and when (epoch ms). */
  replica: z.string(),
  time: z.number(),
});
export type DeadLetter = z.infer<typeof deadLetterSchema>;

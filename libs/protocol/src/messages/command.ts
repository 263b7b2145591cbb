import { z } from 'zod';
import { isToken, maxTokenLength } from '../names/token.ts';
import { answeredBySchema } from './answered-by.ts';
import { clientInputSchema } from './client-input.ts';
import { messageSchema } from './content.ts';
import { eventActionsSchema, eventSchema, givenActionsSchema, toolConfirmationSchema } from './event.ts';

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

/** The settings of one invocation. */
export const runConfigSchema = z.object({
  /** The limit of model calls in the whole invocation; 0 or less for no limit. */
  maxLlmCalls: z.number().int().max(Number.MAX_SAFE_INTEGER).default(500),
  /**
   * The limit of tokens of all model calls in the whole invocation, in and out, as models count them; 0 or
   * less for no limit.
   */
  maxTokens: z.number().int().max(Number.MAX_SAFE_INTEGER).default(0),
  /** With `sse`, pieces of the answer are published as partial events. */
  streamingMode: z.enum(['none', 'sse']).default('none'),
  /**
   * Tells whether the client makes the tool calls: the run then ends with the calls, and the function
   * responses to them continue it.
   */
  pauseOnToolCalls: z.boolean().default(false),
  /**
   * Tells whether a plain "yes" or "no" of the user answers the confirmation that the previous turn asked
   * for.
   */
  plainTextToolConfirmation: z.boolean().default(false),
  /** Tells whether files in the user's message are saved as artifacts; the message then names them. */
  saveInputBlobsAsArtifacts: z.boolean().default(false),
});
export type RunConfig = z.infer<typeof runConfigSchema>;

/**
 * The behaviour of a run while another run works in its session: wait in the session's queue, fail at once,
 * or cancel the other run.
 */
export const whenBusySchema = z.enum(['enqueue', 'reject', 'interrupt']);

/**
 * A run command: a new message for an agent (hop 0), or the next hop of an invocation after a transfer. A
 * client may send the message alone: the run then starts a new invocation in a new anonymous session.
 */
export const runCommandSchema = z.object({
  invocationId: id.optional(),
  /**
   * The id of a run that continues the invocation with an answer. Each continuation has its own id, by which
   * a repetition is recognised.
   */
  resume: id.optional(),
  hop: z.number().int().min(0).default(0),
  app: id.optional(),
  user: id.default('anonymous'),
  session: id.optional(),
  /**
   * The session for which the run was accepted, among all sessions that have had this id; default the present
   * one.
   */
  incarnation: z.string().max(128).optional(),
  /** Absent on hops after a transfer. */
  message: messageSchema.optional(),
  stateDelta: record.optional(),
  /** The input of the client beside the message; absent on hops after a transfer. */
  client: clientInputSchema.optional(),
  runConfig: runConfigSchema.prefault({}),
  whenBusy: whenBusySchema.default('enqueue'),
  /**
   * The source of the answers in the message, as the publisher says. Agents believe the header
   * `Mesh-Answered-By` in its place; agents of versions before that header believe this field.
   */
  answeredBy: answeredBySchema.optional(),
});
export type RunCommand = z.infer<typeof runCommandSchema>;
export type RunCommandInput = z.input<typeof runCommandSchema>;

/**
 * The session whose files the work uses, if that is another session: work within a call uses the files of the
 * caller's session.
 */
const artifactSessionSchema = id.optional();

/** The call of another agent that makes an ask. The child session belongs to this call. */
const parentSchema = z.object({
  artifactSession: artifactSessionSchema,
  app: id,
  user: id,
  session: id,
  invocationId: id,
  agent: z.string(),
  callId: id,
});

/** The position of a held step: the asking process commits the events. */
const heldSchema = z.object({
  /** The number of the asking process's attempt, then the numbers of the requests. */
  part: z.array(z.number().int().min(0)).min(2),
  /**
   * The events that the asking process has received but not committed, each with the number of the last
   * committed event before it.
   */
  uncommitted: z.array(
    z.object({
      event: eventSchema,
      afterSeq: z.number().int().min(0),
      /**
       * Tells whether user code has kept the event back: only the event's agent sees the event, until the
       * agent's turn ends.
       */
      isKeptBack: z.boolean().optional(),
    }),
  ),
  /** The original forms of events that were changed before their commit. */
  originals: z.array(eventSchema),
  /** The state that the uncommitted events have written. */
  state: record,
});

/** The place of an agent that works as a step of another agent's workflow, in that agent's session. */
const stepSchema = z.object({
  artifactSession: artifactSessionSchema,
  app: id,
  user: id,
  session: id,
  invocationId: id,
  branch: z.string().optional(),
  /** The path of the step in the workflow; the events of the step carry this path. */
  path: z.string().optional(),
  /** The number of events in the session before the step. The step's own events come after them. */
  journalStart: z.number().int().min(0),
  /**
   * The number of events that the asking process knows. Later events, which an earlier attempt of the step
   * committed, are sent again.
   */
  afterSeq: z.number().int().min(0).default(Number.MAX_SAFE_INTEGER),
  /**
   * Present for a held step: the asking process commits the events, and sends a new request for each step of
   * the agent.
   */
  held: heldSchema.optional(),
});

/**
 * An ask: a question of a program, a call of the agent as a tool, or a step of a workflow agent.
 * `{ "message": "text" }` is enough.
 */
export const askSchema = z.object({
  message: messageSchema,
  /** The call of another agent that asks; absent for a program and for a step. */
  parent: parentSchema.optional(),
  /**
   * A person's answer to the confirmation that the agent asked for within this call; the agent continues with
   * it.
   */
  confirmation: toolConfirmationSchema.optional(),
  /** A person's answer to the input that the agent asked for within this call. */
  input: z.unknown().optional(),
  /** The place of a step, which works in the session of the asking agent. */
  step: stepSchema.optional(),
  /** The initial state of the child session, and the `temp:` state that the call's step has written so far. */
  state: record.optional(),
  app: id.optional(),
  user: id.default('anonymous'),
  session: id.optional(),
  runConfig: runConfigSchema.prefault({}),
});
export type Ask = z.infer<typeof askSchema>;
export type AskInput = z.input<typeof askSchema>;

/** The answer to an ask. */
export const answerSchema = z.object({
  text: z.string(),
  /** The parsed text, when the agent has an output schema. */
  output: z.unknown().optional(),
  invocationId: z.string(),
  app: z.string(),
  user: z.string(),
  session: z.string(),
  /**
   * The state of session scope that the agent changed. The caller decides whether to apply this state to its
   * own session.
   */
  stateDelta: record.default({}),
  artifactDelta: z.record(z.string(), z.number()).default({}),
  /** The pending calls. While there are any, the text is not the final answer. */
  openCalls: z.array(z.object({ id: z.string(), name: z.string(), args: record })).optional(),
  /** True for a held step that has not ended; it continues with the next request. */
  more: z.boolean().optional(),
});
export type Answer = z.infer<typeof answerSchema>;

/** A call of a tool. `{ "args": { … } }` is enough. */
export const toolCallSchema = z.object({
  /** The id of the function call. A repeated call with the same id gets the result of the first call. */
  callId: callId.optional(),
  /** The id of the event that holds the call. */
  callEventId: z.string().optional(),
  /** The number of answers to questions that the call has asked people. Each answer makes the call again. */
  answers: z.number().int().min(0).default(0),
  /** Tells whether one of these answers is a sign-in; absent when the caller does not know it. */
  hasSignIn: z.boolean().optional(),
  /** A person's answer to the confirmation that the call asked for. */
  toolConfirmation: toolConfirmationSchema.optional(),
  /** A person's answer to the input that the call asked for. */
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
      /** The state that the tool may read, in all scopes, as the caller sees it. */
      state: record.default({}),
      userContent: messageSchema.optional(),
      /** The subject for updates of the call. */
      operationSubject: z.string().optional(),
    })
    .optional(),
});
export type ToolCall = z.infer<typeof toolCallSchema>;
export type ToolCallInput = z.input<typeof toolCallSchema>;

/** The answer of a tool: its result and its actions (state, transfer, …). */
export const toolResultSchema = z.object({
  /** Absent when a long-running tool has no first result. */
  response: z.unknown().optional(),
  /** Tells whether this response is the outcome of a long-running call: no other answer will come. */
  isLastWord: z.boolean().optional(),
  /** The reason of a failure, for the callbacks of the calling agent. The response tells it to the model. */
  failed: z.object({ code: z.string().optional(), message: z.string() }).optional(),
  actions: eventActionsSchema.optional(),
});
export type ToolResult = z.infer<typeof toolResultSchema>;

/** The same answer of a program without agentmesh. Its unknown fields are refused, also below `actions`. */
export const toolReplySchema = toolResultSchema.extend({ actions: givenActionsSchema.optional() });

/** The last message on an invocation's event subject. */
export const invocationEndSchema = z.object({
  /** The id of the run that has ended, when it continued the invocation; absent for the run that began it. */
  resume: z.string().optional(),
  /** A cancelled run is `failed`, with the code `cancelled` in its error. */
  status: z.enum(['completed', 'failed']),
  /** The sequence number of the invocation's last committed event. */
  lastSeq: z.number().int().min(0),
  error: z.object({ code: z.string(), message: z.string(), details: record.optional() }).optional(),
});
export type InvocationEnd = z.infer<typeof invocationEndSchema>;

/** The request to cancel an invocation, for all processes that work on it. */
export const cancelSchema = z.object({
  reason: z.string().max(1_000).default('somebody cancelled it'),
  /** The app and the user of the invocation; without them, the invocations of all users with this id. */
  app: id.optional(),
  user: id.optional(),
});

/** A run that waits in its session's queue, with the message that is published when the run is the next. */
export const waitingRunSchema = z.object({
  agent: z.string(),
  command: runCommandSchema.required({ invocationId: true, app: true, session: true }),
  headers: z.record(z.string(), z.string()),
  /**
   * The key of the message that brought the run into the queue. It distinguishes the publications of the
   * run's turns.
   */
  from: z.string(),
});
export type WaitingRun = z.infer<typeof waitingRunSchema>;

/** A message that could not be worked on. */
export const deadLetterSchema = z.object({
  /** The subject of the message. */
  subject: z.string(),
  /** The message, as far as it could be read. */
  payload: z.unknown(),
  headers: z.record(z.string(), z.string()),
  error: z.object({ code: z.string(), message: z.string() }),
  /** The number of deliveries. */
  attempts: z.number().int(),
  /** The replica that gave up. */
  replica: z.string(),
  /** The time when it gave up, in epoch ms. */
  time: z.number(),
});
export type DeadLetter = z.infer<typeof deadLetterSchema>;

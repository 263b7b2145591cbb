import { z } from 'zod';
import { rolesSchema } from './answered-by.ts';
import { toolCallSchema } from './command.ts';

const record = z.record(z.string(), z.unknown());

/**
 * An update of a pending call from outside: progress, or the outcome. It is plain JSON, from any language:
 * `{"final":true,"response":{"status":"approved"}}`. The subject names the call and the publisher.
 */
export const operationUpdateSchema = z
  .object({
    /** True for the outcome, false for progress. */
    final: z.boolean(),
    /**
     * The response for the model; a value that is not an object becomes `{ result: value }`. For a question,
     * the answer, such as `{"confirmed":true}`.
     */
    response: z.unknown().optional(),
    /** The reason of a failure, instead of a response. */
    error: z.string().min(1).max(10_000).optional(),
    /** Tells whether the agent reacts to the update. Default: true for an outcome, false for progress. */
    wake: z.boolean().optional(),
    /**
     * The number of a progress update. An update that arrives after an update with a higher number is
     * dropped. Without numbers all updates are kept, in the order of arrival.
     */
    seq: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER).optional(),
    /**
     * For a job: the invocation that began the job. After an answer to a question of the call, this
     * invocation differs from the invocation that made the call.
     */
    invocationId: z.string().min(1).optional(),
    /** For a job: the number of answers to questions of the call at the start of the job. */
    answers: z.number().int().min(0).optional(),
    /** The person who answers, as the publisher says; the subject names the publisher. */
    by: z.string().min(1).max(256).optional(),
    /** The roles of this person, as the publisher says. */
    roles: rolesSchema.optional(),
    /** The state changes that the agent commits with the outcome. */
    stateDelta: record.optional(),
    /**
     * The session of the call: app, user and session id. Needed only for a call that has been pending for
     * more than 90 days.
     */
    app: z.string().optional(),
    user: z.string().optional(),
    session: z.string().optional(),
  })
  .refine(
    ({ response, error }) => (response === undefined) !== (error === undefined),
    'an update has either a response or an error',
  );
export type OperationUpdate = z.infer<typeof operationUpdateSchema>;
export type OperationUpdateInput = z.input<typeof operationUpdateSchema>;

/** A job: the work of a call of a long-running tool, in the tool's queue. */
export const jobSchema = z.object({
  /** The id of the job. A repeated call has the same id. */
  job: z.string().min(1).max(1_024),
  call: toolCallSchema,
});
export type Job = z.infer<typeof jobSchema>;
export type JobInput = z.input<typeof jobSchema>;

/** A request for the pending calls of one session, or of all sessions of a user. */
export const pendingRequestSchema = z.object({
  app: z.string().min(1),
  user: z.string().min(1),
  session: z.string().min(1).optional(),
});

/** A pending call with the address where it can be answered. */
const pendingCallSchema = z.object({
  id: z.string(),
  name: z.string(),
  args: record,
  /** The kind of the expected answer; `result` for a long-running tool. */
  kind: z.enum(['confirmation', 'credential', 'input', 'result']),
  app: z.string(),
  user: z.string(),
  sessionId: z.string(),
  invocationId: z.string(),
  agent: z.string(),
  path: z.string().optional(),
  /** The time of the commit, in epoch ms. */
  created: z.number(),
  /** The deadline of the answer, in epoch ms. */
  deadline: z.number().optional(),
  service: z.string().optional(),
  branch: z.string().optional(),
  /** The subject for answers of the user `client`. */
  operationSubject: z.string().optional(),
});

/** The reply to a request for pending calls. */
export const pendingReplySchema = z.object({ pending: z.array(pendingCallSchema) });

/** A change in the pending calls of a session. */
export const pendingNewsSchema = z.object({
  change: z.enum(['opened', 'answered']),
  callId: z.string(),
  /** The new pending call. */
  call: pendingCallSchema.optional(),
});
export type PendingNews = z.infer<typeof pendingNewsSchema>;

import { z } from 'zod';
import { toolCallSchema } from './command.ts';

const record = z.record(z.string(), z.unknown());

/**
 * What is said from outside to a call that waits: how far it is, or its outcome. Plain JSON, from any language:
 * `{"final":true,"response":{"status":"approved"}}`. The call is named by the subject.
 */
export const operationUpdateSchema = z
  .strictObject({
    /** Is it the outcome? Anything else is progress. */
    final: z.boolean(),
    /** What the model is told; what is no object is put under `result`. To a question: its answer, such as `{"confirmed":true}`. */
    response: z.unknown().optional(),
    /** In place of a response: why there is none. */
    error: z.string().min(1).max(10_000).optional(),
    /** Shall the agent say something to it? Default: to an outcome yes, to progress no. */
    wake: z.boolean().optional(),
    /** The nth progress of the work: what comes later than a newer one is dropped. Without it all are kept, in the order of their coming. */
    seq: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER).optional(),
    /** Of a job: the invocation that began it. With an answer to a question that the call had asked it is another than the one that called. */
    invocationId: z.string().min(1).optional(),
    /** Of a job: how many of the questions that the call asked were answered when it began. */
    answers: z.number().int().min(0).optional(),
    /** Who says so, for the record. */
    by: z.string().min(1).max(256).optional(),
    /** State that the agent takes over with the outcome. */
    stateDelta: record.optional(),
    /** Where the call was made: only needed for one that has waited for more than 90 days. */
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

/** The work of a call of a long-running tool, as it lies in the tool's queue. */
export const jobSchema = z.object({
  /** Names the work: the same call has the same. */
  job: z.string().min(1).max(1_024),
  call: toolCallSchema,
});
export type Job = z.infer<typeof jobSchema>;
export type JobInput = z.input<typeof jobSchema>;

/** Asks what waits for an answer: in one session, or in all sessions of a user. */
export const pendingRequestSchema = z.object({
  app: z.string().min(1),
  user: z.string().min(1),
  session: z.string().min(1).optional(),
});

/** What changed in what a session waits for. */
export interface PendingNews {
  change: 'opened' | 'answered';
  callId: string;
  /** The call that waits from now on. */
  call?: unknown;
}

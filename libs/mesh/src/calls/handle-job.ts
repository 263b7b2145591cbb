import { randomUUID } from 'node:crypto';
import type { BaseTool, InvocationServices } from '@agentmesh/agent';
import type { CallRef, InvocationRef } from '@agentmesh/agent/internal';
import type { WorkItem, WorkOutcome } from '@agentmesh/bus';
import {
  type Headers,
  type Job,
  jobSchema,
  MeshError,
  type OperationUpdateInput,
  parse,
  type ToolResult,
} from '@agentmesh/protocol';
import type { FinishedJob } from '@agentmesh/store';
import type { Cancellations, CancelSignal } from '../mesh/cancellations.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { createTally, logTakeover } from '../mesh/outcomes.ts';
import { traceHeaders } from '../messages/carrier.ts';
import { moveToDeadLetters } from '../messages/dead-letter.ts';
import { failedCall, keepResult } from './keep-result.ts';
import { runTool } from './tool-call.ts';

const done: WorkOutcome = { done: true };
/**
 * Duration of a worker's lease on a job, in ms: after this time without a sign of life another worker may
 * take the job over.
 */
const leaseMs = 3_000;
const retryMs = 1_000;
/** Number of workers that may die at a job before it ends with an error. */
const maxDeaths = 5;

export interface JobOptions {
  mesh: Mesh;
  tool: BaseTool;
  services: InvocationServices;
  /** Aborted when the process stops and no longer waits for its work. */
  stopping: AbortSignal;
  cancellations: Cancellations;
}

/** One attempt at a job. */
interface Attempt extends JobOptions {
  order: Job;
  holder: string;
  headers: Headers;
}

/**
 * Does the work of a long-running call. Progress is kept in the store, then published; the job is
 * acknowledged only after its end is published. When a worker dies, another worker takes over and gets the
 * last progress.
 */
export async function handleJob(options: JobOptions, item: WorkItem): Promise<WorkOutcome> {
  const { mesh, tool } = options;
  const log = mesh.log.child({ tool: tool.name });
  let order: Job;
  try {
    order = parse(jobSchema, item.json(), `the job of tool ${tool.name}`);
  } catch (error) {
    log.error({ err: error, subject: item.subject }, 'moved an unreadable job to the dead letters');
    await moveToDeadLetters(mesh, { kind: 'tool', name: tool.name }, item, MeshError.from(error));
    return done;
  }
  const holder = `${mesh.bus.replica}/${randomUUID()}`;
  const attempt: Attempt = { ...options, order, holder, headers: traceHeaders(item.headers) };
  try {
    return await work(attempt);
  } catch (error) {
    // Failures of the tool itself go to the agent; this is a failure of the mesh.
    log.warn({ err: error, job: order.job }, 'could not continue a job; it will be tried again');
    await mesh.jobs.release(tool.name, order.job, holder).catch(() => {});
    return { done: false, delayMs: retryMs };
  }
}

async function work(attempt: Attempt): Promise<WorkOutcome> {
  const { mesh, tool, order, holder, stopping } = attempt;
  const taken = await mesh.jobs.take(tool.name, order.job, holder, leaseMs);
  if (taken.state === 'busy') return { done: false, delayMs: retryMs };
  if (taken.state === 'done') {
    await tellEnd(attempt, taken);
    return done;
  }
  const ids = jobIds(attempt);
  logTakeover(mesh.log, taken.attempt, ids);
  const tally = createTally();
  tally.attempt = taken.attempt;
  const jobLost = new AbortController();
  const callAnswered = new AbortController();
  const callGone = new AbortController();
  using cancel = attempt.cancellations.signalOf(order.call.context?.invocationId ?? '');
  const signal = AbortSignal.any([
    stopping,
    jobLost.signal,
    callAnswered.signal,
    callGone.signal,
    cancel.signal,
  ]);
  let result: ToolResult;
  using alive = keepJob(attempt, { jobLost, callAnswered, callGone, cancel });
  // The job may have been in the queue for a long time.
  await alive.check();
  try {
    signal.throwIfAborted();
    result =
      taken.deaths >= maxDeaths
        ? deadly(tool.name, taken.deaths)
        : await doWork(attempt, taken, signal, jobLost);
  } catch (error) {
    if (!signal.aborted && MeshError.from(error).retryable) throw error;
    if (jobLost.signal.aborted) return { done: false, takenOver: true };
    if (stopping.aborted) {
      await mesh.jobs.release(tool.name, order.job, holder);
      return { done: false, delayMs: 0 };
    }
    result = signal.aborted ? stopped(signal.reason) : failedCall(tool.name, error);
  }
  // The session of the call is deleted: nobody reads the result, and no part of the result may stay.
  if (callGone.signal.aborted) {
    await mesh.jobs.forget(tool.name, order.job);
    return done;
  }
  const { durationMs, attempt: number } = tally.fields();
  const outcome = result.failed ? { outcome: 'failed', code: result.failed.code } : { outcome: 'completed' };
  mesh.log.info({ ...ids, ...outcome, durationMs, attempt: number }, 'job ended');
  const finishedJob = await keepResult(tool.name, result, (each) =>
    mesh.jobs.finish(tool.name, order.job, each),
  );
  // A call that was answered in another way needs no end. The end of a cancelled call must not wake the
  // agent.
  if (callAnswered.signal.aborted) return done;
  await tellEnd(attempt, finishedJob, !cancel.signal.aborted);
  return done;
}

function jobIds({ tool, order: { job, call } }: Attempt): Record<string, unknown> {
  const { callId, context } = call;
  const { agent, invocationId, session } = context ?? {};
  return { tool: tool.name, job, callId, ...(context && { agent, invocationId, session }) };
}

async function doWork(
  attempt: Attempt,
  { attempt: number, lastProgress }: { attempt: number; lastProgress?: Record<string, unknown> },
  signal: AbortSignal,
  jobLost: AbortController,
): Promise<ToolResult> {
  const { mesh, tool, order, holder, services } = attempt;
  const run = runTool(tool, order.call, services, signal, {
    attempt: number,
    ...(lastProgress && { lastProgress }),
  });
  try {
    for (;;) {
      const step = await run.next();
      if (step.done) return step.value;
      const word = await mesh.jobs.report(tool.name, order.job, holder, step.value);
      if (!word) {
        jobLost.abort(new MeshError('aborted', 'another worker has taken the job over'));
        signal.throwIfAborted();
      }
      // If two processes published progress, it would arrive out of order.
      else if (!word.isFollowed)
        await tellProgress(attempt, { final: false, response: step.value, seq: word.seq });
    }
  } finally {
    // Does not wait for the end of the generator: a generator that hangs would never end.
    run.return({}).catch(() => {});
  }
}

/**
 * Publishes progress. A failure to publish is no reason to start the work again: progress is news, and the
 * store keeps it for the processes that follow the job.
 */
async function tellProgress(attempt: Attempt, update: OperationUpdateInput): Promise<void> {
  try {
    await tell(attempt, update);
  } catch (error) {
    if (!MeshError.from(error).retryable) throw error;
    attempt.mesh.log.warn({ err: error, job: attempt.order.job }, 'could not publish the progress of a job');
  }
}

/**
 * Renews the worker's lease on the job. Stops the work when another worker has the job, or when the call has
 * its answer, is cancelled or is gone.
 */
function keepJob(
  { mesh, tool, order, holder }: Attempt,
  {
    jobLost,
    callAnswered,
    callGone,
    cancel,
  }: Record<'jobLost' | 'callAnswered' | 'callGone', AbortController> & { cancel: CancelSignal },
): Disposable & { check(): Promise<void> } {
  const check = async () => {
    const held = await mesh.jobs.take(tool.name, order.job, holder, leaseMs);
    if (held.state !== 'taken')
      jobLost.abort(new MeshError('aborted', 'another worker has taken the job over'));
    const call = callOf(order);
    if (!call) return;
    const { cancelled } = await mesh.sessions.invocations.get(call);
    if (cancelled !== undefined) cancel.cancel(cancelled);
    const state = await mesh.sessions.pending.stateOf(call);
    if (state === 'answered') callAnswered.abort(new MeshError('cancelled', 'the call has its answer'));
    if (state === 'unknown') callGone.abort(new MeshError('cancelled', 'the call is gone with its session'));
  };
  const timer = setInterval(
    () => void check().catch((error) => mesh.log.debug({ err: error }, 'could not renew a job')),
    leaseMs / 3,
  );
  return { check, [Symbol.dispose]: () => clearInterval(timer) };
}

/** Returns the call in its session; undefined for a call that no agent made. */
function callOf({ call: { callId, context } }: Job): (CallRef & InvocationRef) | undefined {
  if (!context?.operationSubject || callId === undefined) return undefined;
  const { app: appName, user: userId, session: sessionId, invocationId } = context;
  return { appName, userId, sessionId, callId, invocationId };
}

/**
 * Publishes how the job ended, for the agent that made the call. If the agent followed the job, it may know
 * the end already.
 */
async function tellEnd(attempt: Attempt, { result, said, heard }: FinishedJob, wake = true): Promise<void> {
  const { response, isLastWord, failed, actions } = result;
  const final = isLastWord === true || failed !== undefined;
  // A ticket is only the first response, and no news to an agent that has received it.
  if (!final && (heard || response === undefined)) return;
  const { requestedToolConfirmations, requestedAuthConfigs, requestedInputs } = actions ?? {};
  const requests = [requestedToolConfirmations, requestedAuthConfigs, requestedInputs];
  const asks = requests.some((each) => Object.keys(each ?? {}).length > 0);
  const update: OperationUpdateInput =
    asks && !heard
      ? {
          final: true,
          error: 'the tool asked a person only after its call had gone on without it; ask at once',
        }
      : { final, response, ...(!final && { wake: true }) };
  const delta = actions?.stateDelta ?? {};
  const last = { seq: said + 1, ...(!wake && { wake: false }) };
  try {
    await tell(attempt, { ...update, ...last, ...(Object.keys(delta).length > 0 && { stateDelta: delta }) });
  } catch (error) {
    const { retryable, message } = MeshError.from(error);
    if (retryable) throw error;
    // The result is too large for a message; the call must end all the same.
    const why = `the result of ${attempt.tool.name} cannot be sent: ${message}`;
    await tell(attempt, { final: true, error: why, ...last });
  }
}

/** Publishes an update with its number as message id, so that a repetition has no effect. */
async function tell({ mesh, tool, order, headers }: Attempt, update: OperationUpdateInput): Promise<void> {
  const { job, call } = order;
  const { operationSubject, app, user, session, invocationId } = call.context ?? {};
  if (operationSubject === undefined) return;
  const { answers } = call;
  await mesh.bus.enqueue(
    operationSubject,
    { ...update, by: tool.name, app, user, session, invocationId, ...(answers > 0 && { answers }) },
    { messageId: `${job}:${update.seq}`, headers },
  );
}

function stopped(reason: unknown): ToolResult {
  const { message } = MeshError.from(reason);
  return { response: { status: 'cancelled', error: message }, failed: { code: 'cancelled', message } };
}

function deadly(tool: string, deaths: number): ToolResult {
  const message = `${deaths} processes died at this call of ${tool}; it was given up`;
  return { response: { error: message }, failed: { code: 'internal', message } };
}

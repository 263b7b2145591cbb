import { randomUUID } from 'node:crypto';
import type { BaseTool, InvocationServices } from '@agentmesh/agent';
import type { WorkItem, WorkOutcome } from '@agentmesh/bus';
import { type Headers, type Job, jobSchema, MeshError, type ToolResult } from '@agentmesh/protocol';
import type { Logger } from '@agentmesh/service';
import type { FinishedJob } from '@agentmesh/store';
import type { Cancellations, CancelSignal } from '../mesh/cancellations.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { countDelivery } from '../mesh/metrics.ts';
import { createTally, logTakeover } from '../mesh/outcomes.ts';
import { traceHeaders } from '../messages/carrier.ts';
import { moveToDeadLetters } from '../messages/dead-letter.ts';
import { readPayload } from '../messages/read-payload.ts';
import { callOf } from './job-call.ts';
import { failedCall, keepResult, stoppedCall } from './keep-result.ts';
import { createHolder, keepRenewed, type Renewals, type TakeWork } from './take-work.ts';
import { tellDead, tellEnd, tellProgress } from './tell-job.ts';
import { callerOf, runTool } from './tool-call.ts';
import { untilDone, type WorkInHand } from './work-in-hand.ts';

const done: WorkOutcome = { done: true };
const retryMs = 1_000;
/** Number of workers that may die at a job before it ends with an error. */
const maxDeaths = 5;

export interface JobOptions {
  mesh: Mesh;
  tool: BaseTool;
  services: InvocationServices;
  leaseMs: number;
  inHand: WorkInHand;
  takeWork: TakeWork;
  /** Aborted when the process stops and no longer waits for its work. */
  stopping: AbortSignal;
  cancellations: Cancellations;
}

/** One attempt at a job. */
interface Attempt extends JobOptions {
  order: Job;
  holder: string;
  headers: Headers;
  /** The headers with which the job came: they name the caller. */
  incoming: Headers;
  /** Present once this worker has the job. */
  renewals?: Renewals;
}

/**
 * Does the work of a long-running call. Progress is kept in the store, then published; the job is
 * acknowledged only after its end is published. When a worker dies, another worker takes over and gets the
 * last progress. A worker that lives keeps its job: it stores progress and result again and again until the
 * store has them.
 */
export async function handleJob(options: JobOptions, item: WorkItem): Promise<WorkOutcome> {
  const { mesh, tool } = options;
  const log = mesh.log.child({ tool: tool.name });
  countDelivery('job', tool.name, item.attempt);
  let order: Job;
  try {
    order = readPayload(jobSchema, item, `the job of tool ${tool.name}`);
  } catch (error) {
    await moveToDeadLetters(mesh, { kind: 'tool', name: tool.name }, item, MeshError.from(error));
    return done;
  }
  const attempt: Attempt = {
    ...options,
    order,
    holder: createHolder(mesh),
    headers: traceHeaders(item.headers),
    incoming: item.headers,
  };
  return await options.inHand.addAs(attempt.holder, () => workOrHandBack(attempt, item, log));
}

/**
 * Works on a job. A failure of the mesh that may pass gives the job back to the queue; any other one, as when the user
 * of Redis has lost its rights, makes the job a dead letter and ends its call: it would come back every second.
 */
async function workOrHandBack(attempt: Attempt, item: WorkItem, log: Logger): Promise<WorkOutcome> {
  try {
    return await work(attempt);
  } catch (thrown) {
    // Failures of the tool itself go to the agent; this is a failure of the mesh.
    const error = MeshError.from(thrown, 'the job could not be done; the log has the cause');
    if (!error.retryable) {
      await moveToDeadLetters(attempt.mesh, { kind: 'tool', name: attempt.tool.name }, item, error);
      await tellDead(attempt, error);
      await handBack(attempt);
      return done;
    }
    log.warn({ err: error, job: attempt.order.job }, 'could not continue a job; it will be tried again');
    await handBack(attempt);
    return { done: false, delayMs: retryMs };
  } finally {
    void attempt.renewals?.stop();
  }
}

/** Gives the lease up. Nobody takes the job over from a process that lives, so this is tried until it is done. */
async function handBack({ mesh, tool, order, holder, inHand, renewals }: Attempt): Promise<void> {
  const { jobs, log } = mesh;
  const { job } = order;
  await renewals?.stop();
  const release = () => jobs.release(tool.name, job, holder);
  try {
    await untilDone(release, { signal: inHand.givenUp, log, step: `hand a job of ${tool.name} back` });
  } catch (error) {
    log.warn({ err: error, job }, 'could not hand a job back; others take it over when this process is gone');
  }
}

async function work(attempt: Attempt): Promise<WorkOutcome> {
  const { mesh, tool, order, holder, leaseMs, stopping } = attempt;
  const take = (gone?: string) => mesh.jobs.take(tool.name, order.job, holder, leaseMs, gone);
  const ids = jobIds(attempt);
  const taken = await attempt.takeWork(take, ids);
  if (taken.state === 'busy') return { done: false, delayMs: retryMs };
  if (taken.state === 'done') {
    await tellEnd(attempt, taken, !(await isCancelled(attempt)));
    return done;
  }
  mesh.log.info({ ...ids, attempt: taken.attempt }, 'job began');
  logTakeover(mesh.log, taken.attempt, ids);
  const { context: { app, session, invocationId } = {}, callId } = order.call;
  const about = { app, session, invocationId, callId, job: order.job };
  using tally = createTally('job', tool.name, { ...about, headers: attempt.incoming });
  tally.begin(taken.attempt);
  attempt.headers = tally.under(attempt.headers);
  const jobLost = new AbortController();
  const callAnswered = new AbortController();
  const callGone = new AbortController();
  using cancel = attempt.cancellations.signalOf(order.call.context?.invocationId ?? '', order.call.context);
  const signal = AbortSignal.any([
    stopping,
    jobLost.signal,
    callAnswered.signal,
    callGone.signal,
    cancel.signal,
  ]);
  let result: ToolResult;
  const check = checkOf(attempt, { jobLost, callAnswered, callGone, cancel });
  attempt.renewals = keepRenewed(check, attempt.leaseMs, mesh.log);
  // The job may have been in the queue for a long time.
  await check();
  // Without NATS the others take this process for gone, so it must not begin.
  if (!mesh.bus.status().connected) throw new MeshError('unavailable', 'the message server is away');
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
      await handBack(attempt);
      return { done: false, delayMs: 0 };
    }
    result = signal.aborted ? stoppedCall(signal.reason) : failedCall(tool.name, error);
  }
  // The session of the call is deleted: nobody reads the result, and no part of the result may stay.
  if (callGone.signal.aborted) {
    await mesh.jobs.forget(tool.name, order.job);
    return done;
  }
  const { durationMs, attempt: number } = tally.fields();
  const outcome = result.failed ? { outcome: 'failed', code: result.failed.code } : { outcome: 'completed' };
  tally.end(outcome.outcome, outcome.code);
  mesh.log.info({ ...ids, ...outcome, durationMs, attempt: number }, 'job ended');
  const finishedJob = await finish(attempt, result);
  // A call that was answered in another way needs no end. The end of a cancelled call must not wake the
  // agent.
  if (callAnswered.signal.aborted) return done;
  await tellEnd(attempt, finishedJob, !cancel.signal.aborted);
  return done;
}

/** Stores the result, again and again until the store has it: the work is done and must not be done again. */
async function finish({ mesh, tool, order, inHand }: Attempt, result: ToolResult): Promise<FinishedJob> {
  return await untilDone(
    () => keepResult(tool.name, result, (each) => mesh.jobs.finish(tool.name, order.job, each)),
    {
      signal: inHand.givenUp,
      log: mesh.log,
      step: `store the result of a job of ${tool.name}`,
    },
  );
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
  const { mesh, tool, order, holder, services, incoming } = attempt;
  const caller = await callerOf(mesh, order.call, incoming);
  const run = runTool(tool, order.call, services, signal, {
    attempt: number,
    caller,
    carrier: attempt.headers,
    ...(lastProgress && { lastProgress }),
  });
  try {
    for (;;) {
      const step = await run.next();
      if (step.done) return step.value;
      const id = randomUUID();
      // A tool that has begun is not begun again because the store is away: it waits.
      const word = await untilDone(() => mesh.jobs.report(tool.name, order.job, holder, step.value, id), {
        signal,
        log: mesh.log,
        step: `store the progress of a job of ${tool.name}`,
      });
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
 * Returns a function that renews the worker's lease on the job. It stops the work when another worker has the
 * job, or when the call has its answer, is cancelled or is gone.
 */
function checkOf(
  { mesh, tool, order, holder, leaseMs }: Attempt,
  {
    jobLost,
    callAnswered,
    callGone,
    cancel,
  }: Record<'jobLost' | 'callAnswered' | 'callGone', AbortController> & { cancel: CancelSignal },
): () => Promise<void> {
  return async () => {
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
}

/** Tells whether the invocation of the job is cancelled: then the end of the job does not wake the agent. */
async function isCancelled({ mesh, order }: Attempt): Promise<boolean> {
  const call = callOf(order);
  return call !== undefined && (await mesh.sessions.invocations.get(call)).cancelled !== undefined;
}

function deadly(tool: string, deaths: number): ToolResult {
  const message = `${deaths} processes died at this call of ${tool}; it was given up`;
  return { response: { error: message }, failed: { code: 'internal', message } };
}

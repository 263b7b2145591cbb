import { setTimeout as delay } from 'node:timers/promises';
import { MeshError, type ToolCall, type ToolResult } from '@agentmesh/protocol';
import type { Cancellations, CancelSignal } from '../mesh/cancellations.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { keyOf } from './call-key.ts';
import { keepResult, stoppedCall } from './keep-result.ts';
import { createHolder, keepRenewed, type Renewals, type TakeWork } from './take-work.ts';
import { untilDone, type WorkInHand } from './work-in-hand.ts';

/** Pauses of a waiting replica between two looks for the result, in ms: the first and the longest. */
const firstLookMs = 50;
const longestLookMs = 500;

export interface OnceOptions {
  mesh: Mesh;
  tool: string;
  resultTtlMs: number;
  leaseMs: number;
  /** Number of calls that the process may hold at once, with those whose result is not stored yet. */
  maxCalls: number;
  cancellations: Cancellations;
  inHand: WorkInHand;
  takeWork: TakeWork;
}

/** The work of a call. Its signal aborts when the call is cancelled, at its deadline, and at a stop. */
type Work = (signal: AbortSignal) => Promise<ToolResult>;

/**
 * Carries out each call once.
 *
 * @param requestSignal aborts at the deadline of the call, and when the process stops
 */
export type OncePerCall = (call: ToolCall, requestSignal: AbortSignal, work: Work) => Promise<ToolResult>;

/** One call with an id, which this process has received. */
interface HeldCall {
  call: ToolCall;
  key: string;
  requestSignal: AbortSignal;
  work: Work;
}

/**
 * Makes the function through which a process carries out the calls of a tool. A repeat of a call that is at
 * work here joins it. Among the replicas, a lease in the store decides; it passes to another replica only
 * when the process of its holder is gone, or is not at the call any more. The work begins only while the store
 * and NATS can be reached. A finished result is stored again and again until the store has it, and the lease is
 * renewed meanwhile.
 */
export function createOncePerCall(options: OnceOptions): OncePerCall {
  const { tool, maxCalls, inHand } = options;
  const atWork = new Map<string, Promise<ToolResult>>();
  return async (call, requestSignal, work) => {
    if (call.callId === undefined) return await uncounted(options, call, requestSignal, work);
    const key = keyOf(call, call.callId);
    const joined = atWork.get(key);
    if (joined) return await joined;
    if (atWork.size >= maxCalls) throw fullError(tool, maxCalls);
    const holder = createHolder(options.mesh);
    const result = inHand
      .addAs(holder, () => carryOut(options, holder, { call, key, requestSignal, work }))
      .finally(() => atWork.delete(key));
    atWork.set(key, result);
    return await result;
  };
}

/** Carries out a call without an id, whose repeats cannot be known. */
async function uncounted(
  { cancellations }: OnceOptions,
  { context }: ToolCall,
  requestSignal: AbortSignal,
  work: Work,
): Promise<ToolResult> {
  using cancel = cancellations.signalOf(context?.invocationId ?? '', context);
  return await work(AbortSignal.any([requestSignal, cancel.signal]));
}

async function carryOut(options: OnceOptions, holder: string, held: HeldCall): Promise<ToolResult> {
  const { mesh, tool, leaseMs, resultTtlMs, inHand } = options;
  const { callResults: results, log } = mesh;
  const { call, key } = held;
  using cancel = options.cancellations.signalOf(call.context?.invocationId ?? '', call.context);
  let renewals: Renewals | undefined;
  let result: ToolResult | undefined;
  try {
    const turn = await waitForTurn(options, holder, held, cancel.signal);
    if ('stored' in turn) return turn.stored;
    renewals = keepRenewed(() => results.take(tool, key, holder, leaseMs), leaseMs, log);
    if (!turn.isFirst) await noteCancellation(options, held, cancel);
    const made = await workOn(held, cancel.signal);
    result = made;
    return await untilDone(
      () => keepResult(tool, made, (each) => results.put(tool, key, each, resultTtlMs)),
      {
        signal: inHand.givenUp,
        log,
        step: `store the result of ${tool}`,
        // The work is done and must not be done again, so each failure is tried again.
        isPassing: ({ code }) => code !== 'invalid_argument',
      },
    );
  } catch (error) {
    await renewals?.stop();
    if (!result) await handBack(options, key, holder);
    throw error;
  } finally {
    void renewals?.stop();
  }
}

/**
 * Does the work. A call that was cancelled, or whose deadline has passed, has this as its result, so that no
 * repeat carries it out.
 *
 * @throws an error after which a repeat may carry the call out: for example, the process stops
 */
async function workOn({ requestSignal, work }: HeldCall, cancelled: AbortSignal): Promise<ToolResult> {
  const signal = AbortSignal.any([requestSignal, cancelled]);
  try {
    signal.throwIfAborted();
    return await work(signal);
  } catch (error) {
    if (cancelled.aborted) return stoppedCall(cancelled.reason);
    if (requestSignal.aborted && MeshError.from(requestSignal.reason).code === 'deadline_exceeded')
      return stoppedCall(requestSignal.reason);
    throw error;
  }
}

/** The turn of a process at a call: it has the lease on the work, or the work is done. */
type Turn =
  | {
      /** False if the process had to wait, or took the work over: the call may be cancelled by now. */
      isFirst: boolean;
    }
  | { stored: ToolResult };

/**
 * Waits until this process has the lease on the call's work, or the call has a result. Waits also while the
 * store or NATS cannot be reached: the work may have been done.
 *
 * @throws the abort reason of the request; the reason of a cancellation when another process has the work
 */
async function waitForTurn(
  { mesh, tool, leaseMs, inHand, takeWork }: OnceOptions,
  holder: string,
  { call, key, requestSignal: signal }: HeldCall,
  cancelled: AbortSignal,
): Promise<Turn> {
  const { callResults: results, bus, log } = mesh;
  const since = performance.now();
  let isFirst = true;
  const take = (gone?: string) => {
    if (gone !== undefined) isFirst = false;
    return results.take(tool, key, holder, leaseMs, gone);
  };
  const { callId, context: { agent, invocationId, session } = {} } = call;
  const look = () => takeWork(take, { callId, agent, invocationId, session });
  for (let pauseMs = firstLookMs; ; pauseMs = Math.min(pauseMs * 1.5, longestLookMs)) {
    const taken = await untilDone(look, { signal, log, step: `take a call of ${tool}` });
    if (taken.state === 'done') return { stored: taken.result };
    if (taken.state === 'taken' && bus.status().connected)
      return { isFirst: isFirst && performance.now() - since < leaseMs };
    isFirst = false;
    // Without NATS the others take this process for gone: it must not begin, and one of them may.
    if (taken.state === 'taken')
      await untilDone(() => results.release(tool, key, holder), {
        signal: inHand.givenUp,
        log,
        step: `leave a call of ${tool} to others`,
      });
    else cancelled.throwIfAborted();
    signal.throwIfAborted();
    await delay(pauseMs, undefined, { signal }).catch(() => {});
  }
}

/**
 * Reads whether the call's invocation was cancelled before this process listened for that, or has ended
 * without the call: its caller gave up, and nobody reads the result.
 */
async function noteCancellation(
  { mesh: { sessions, log }, tool }: OnceOptions,
  { call: { context }, requestSignal: signal }: HeldCall,
  cancel: CancelSignal,
): Promise<void> {
  if (!context) return;
  const { app: appName, user: userId, session: sessionId, invocationId } = context;
  const { cancelled, status } = await untilDone(
    () => sessions.invocations.get({ appName, userId, sessionId, invocationId }),
    { signal, log, step: `read whether a call of ${tool} is cancelled` },
  );
  if (cancelled !== undefined) cancel.cancel(cancelled);
  else if (status !== 'running') cancel.cancel('its run has ended without it');
}

/** Gives the lease up without a result. */
async function handBack({ mesh, tool, inHand }: OnceOptions, key: string, holder: string): Promise<void> {
  const { callResults: results, log } = mesh;
  const release = () => results.release(tool, key, holder);
  try {
    await untilDone(release, { signal: inHand.givenUp, log, step: `hand a call of ${tool} back` });
  } catch (error) {
    log.warn(
      { err: error, tool },
      'could not hand a call back; others take it over when this process is gone',
    );
  }
}

function fullError(tool: string, maxCalls: number): MeshError {
  return new MeshError(
    'resource_exhausted',
    `the replica holds ${maxCalls} calls of ${tool} that are at work or whose results cannot be stored; try again`,
  );
}

import { setTimeout as delay } from 'node:timers/promises';
import { askedAgainReason, credentialReason } from '@agentmesh/agent/internal';
import { isUnanswered as isUnansweredReason, type ReceivedFrame, type RequestOptions } from '@agentmesh/bus';
import { deadlineOf, MeshError, meshTime } from '@agentmesh/protocol';
import type { CallTarget } from '../mesh/call-counts.ts';
import type { Mesh } from '../mesh/mesh.ts';

/** Number of times a request is sent before its error goes to the caller. */
const attempts = 4;
/**
 * Time that a known callee may be absent, in ms: the callee may restart, or the server may come back before
 * its clients.
 */
const absenceMs = 10_000;

/** The difference between two clocks that is taken into account, in ms. */
const clockSkewMs = 1_000;

export interface Callee {
  subject: string;
  /** The agent or tool, for the counters of calls. */
  target: Pick<CallTarget, 'to' | 'kind'>;
  /** The ids of the request for the log: the invocation, the call. */
  ids?: Record<string, unknown>;
  /** Tells whether the mesh knows the callee. A request to an unknown callee fails at once. */
  isKnown: () => boolean;
  /** True for work that has effects: an error says when it is not known whether the work was done. */
  hasEffects?: boolean;
}

/**
 * Sends a request to a service and yields its frames, the result last. When a callee falls silent or is busy,
 * the request is sent again with the same payload, to another replica if there is one; the ids in the request
 * keep the work from being done twice. A callee that has a card but no replica at the moment gets a short
 * while to come back.
 *
 * @throws MeshError as `Bus.request` does: the error of the last attempt; `unavailable` with the detail
 * `outcome: 'unknown'` when work with effects may have been done
 */
export async function* callService(
  mesh: Mesh,
  callee: Callee,
  payload: unknown,
  options: RequestOptions,
): AsyncGenerator<ReceivedFrame, void, void> {
  const count = (isFailed: boolean) => mesh.callCounts.add({ ...callee.target, how: 'call' }, isFailed);
  try {
    for await (const frame of requestAgain(mesh, callee, payload, options)) {
      if (frame.type === 'result') count(Object(frame.data).failed !== undefined);
      yield frame;
    }
  } catch (error) {
    const { code, message, details } = MeshError.from(error);
    if (code !== 'cancelled' && !options.signal?.aborted) count(true);
    if (details?.reason === 'no_responders' && !options.signal?.aborted) {
      const { subject, ids } = callee;
      mesh.log.warn({ subject, ...ids, reason: message }, 'nobody serves what was called');
    }
    throw ofCallee(MeshError.from(error), callee.target.to);
  }
}

/**
 * Marks an error as the answer of a callee, which decides little about the run of the caller: the code by which this
 * process knows that its own run was taken over, and the reasons by which it marks its own errors, mean nothing there.
 * A callee whose storage of credentials fails ends the run, or has it delivered again as {@link isOfCallee} limits it.
 */
function ofCallee({ code, message, details, cause }: MeshError, callee: string): MeshError {
  const { reason, ...rest } = details ?? {};
  if (isUnansweredReason(reason))
    return new MeshError(code, message, { details: { ...rest, reason }, cause });
  if (code === 'aborted')
    return new MeshError('unavailable', message, { details: { ...rest, callee }, cause });
  const lacks = reason === credentialReason && code !== 'cancelled' && { reason };
  return new MeshError(code, message, { details: { ...rest, callee, ...lacks }, cause });
}

/** Tells whether an error is the answer of a callee. It causes a dozen deliveries of a run at most. */
export function isOfCallee({ details }: MeshError): boolean {
  return details?.callee !== undefined;
}

async function* requestAgain(
  { bus, log }: Mesh,
  { subject, isKnown, ids, hasEffects = false }: Callee,
  payload: unknown,
  options: RequestOptions,
): AsyncGenerator<ReceivedFrame, void, void> {
  const absentUntil = performance.now() + absenceMs;
  let mayBeDone = false;
  for (let attempt = 1, requests = 1; ; requests += 1) {
    try {
      yield* bus.request(subject, payload, options);
      return;
    } catch (error) {
      const failure = MeshError.from(error);
      await ownDeadline(failure, options);
      const isAbsent = failure.details?.reason === 'no_responders';
      mayBeDone ||= isSilence(failure);
      const mayCome = isAbsent && isKnown() && performance.now() < absentUntil;
      const mayWork = !isAbsent && attempt < attempts && isWorthRepeating(failure);
      if (!(mayCome || mayWork) || options.signal?.aborted) throw lastError(failure, hasEffects && mayBeDone);
      if (mayWork) attempt += 1;
      const why = { subject, ...ids, code: failure.code, reason: failure.message, requests };
      // A warning once for each call: it may be sent many times in a second.
      log[requests === 1 ? 'warn' : 'debug'](why, 'asking again');
      await pause(isAbsent ? 200 : busyMs(failure, attempt), options.signal);
    }
  }
}

/**
 * After a callee has failed by a deadline, waits for the caller's own deadline if it is about to pass: another
 * clock may be ahead. The caller then ends by its deadline, and does not treat that as a failure of the callee
 * alone.
 */
async function ownDeadline({ code }: MeshError, { headers = {}, signal }: RequestOptions): Promise<void> {
  if (code !== 'deadline_exceeded' || !signal) return;
  const leftMs = (deadlineOf(headers) ?? Number.POSITIVE_INFINITY) - meshTime();
  if (leftMs > clockSkewMs) return;
  await delay(Math.max(0, leftMs) + clockSkewMs, undefined, { signal }).catch(() => {});
}

/** Tells whether a call ended without an answer: its callee may find the request later. */
export function isUnanswered({ details }: MeshError): boolean {
  return details?.outcome === 'unknown' && isUnansweredReason(details.reason);
}

/** Tells whether a request may have reached a callee that did not answer it. */
function isSilence({ code, details }: MeshError): boolean {
  if (details?.reason === 'no_responders') return false;
  return code === 'unavailable' || code === 'deadline_exceeded';
}

/**
 * Adds to the last error of a call that its work may have been done. An error of the callee about the request
 * itself, and the end of the caller, stay as they are.
 */
function lastError(failure: MeshError, mayBeDone: boolean): MeshError {
  const { code, message, details, retryable } = failure;
  if (!mayBeDone || (!retryable && code !== 'deadline_exceeded')) return failure;
  return new MeshError(
    code === 'deadline_exceeded' ? code : 'unavailable',
    `${message}; it is not known whether the call was carried out`,
    { details: { ...details, outcome: 'unknown' }, cause: failure },
  );
}

/**
 * Returns the pause before the next attempt, in ms: the pause grows for a busy callee; after any other
 * failure the request is repeated at once.
 */
function busyMs({ code }: MeshError, attempt: number): number {
  return code === 'resource_exhausted' ? attempt * 50 : 0;
}

/**
 * Tells whether a repetition may help. When one replica died or is busy, another replica may be healthy. A
 * callee that was fenced off by a late request of this caller is asked again. After a takeover of the
 * caller's run nothing is repeated: nobody waits for the answer.
 */
function isWorthRepeating({ code, retryable, details }: MeshError): boolean {
  return retryable && (code !== 'aborted' || details?.reason === askedAgainReason);
}

/**
 * Waits for a random time from half of `ms` to `ms`, so that the rejected callers do not come back together.
 */
async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (ms === 0) return;
  await delay(ms / 2 + Math.random() * (ms / 2), undefined, signal ? { signal } : {}).catch(() => {});
}

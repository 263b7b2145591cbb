import { setTimeout as delay } from 'node:timers/promises';
import { askedAgainReason } from '@agentmesh/agent/internal';
import type { ReceivedFrame, RequestOptions } from '@agentmesh/bus';
import { MeshError } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';

/** How often a request is sent before its error is given to the caller. */
const attempts = 4;
/** How long a callee that the mesh knows may be away, in ms: a restart, or a server that comes back before its clients. */
const absenceMs = 10_000;

export interface Callee {
  subject: string;
  /** What names the request in the log: the invocation, the call. */
  ids?: Record<string, unknown>;
  /** Does the mesh know it? Of a stranger it is said at once that nobody is there. */
  isKnown: () => boolean;
}

/**
 * Asks a service and yields its frames, the result last. A callee that falls silent, or is busy, is replaced by another replica: the request
 * is sent again with the same payload, and the ids in it keep the work from being done twice. One that has a card and no replica just now
 * is given a short while to come back.
 *
 * @throws MeshError as `Bus.request` does, the last one of all attempts.
 */
export async function* callService(
  { bus, log }: Mesh,
  { subject, isKnown, ids }: Callee,
  payload: unknown,
  options: RequestOptions,
): AsyncGenerator<ReceivedFrame, void, void> {
  const absentUntil = Date.now() + absenceMs;
  for (let attempt = 1, tries = 1; ; tries += 1) {
    try {
      yield* bus.request(subject, payload, options);
      return;
    } catch (error) {
      const failure = MeshError.from(error);
      const isAbsent = failure.details?.reason === 'no_responders';
      const mayCome = isAbsent && isKnown() && Date.now() < absentUntil;
      const mayWork = !isAbsent && attempt < attempts && isWorthRepeating(failure);
      if (!(mayCome || mayWork) || options.signal?.aborted) throw failure;
      if (mayWork) attempt += 1;
      const why = { subject, ...ids, code: failure.code, reason: failure.message, tries };
      // Once for each call: it may be asked many times in a second.
      log[tries === 1 ? 'warn' : 'debug'](why, 'asking again');
      await pause(isAbsent ? 200 : busyMs(failure, attempt), options.signal);
    }
  }
}

/** How long to wait before the next attempt at a busy callee, in ms; another one is asked at once. */
function busyMs({ code }: MeshError, attempt: number): number {
  return code === 'resource_exhausted' ? attempt * 50 : 0;
}

/**
 * A callee that died or is busy may have a healthy sibling, and one that was fenced off by a request of ours that came late is asked anew. Of a run
 * that was taken over nobody waits for the answer.
 */
function isWorthRepeating({ code, retryable, details }: MeshError): boolean {
  return retryable && (code !== 'aborted' || details?.reason === askedAgainReason);
}

/** Waits between half of `ms` and all of it, so that those who were turned away do not come back together. */
async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (ms === 0) return;
  await delay(ms / 2 + Math.random() * (ms / 2), undefined, signal ? { signal } : {}).catch(() => {});
}

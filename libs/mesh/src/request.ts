import type { ReceivedFrame, RequestOptions } from '@agentmesh/bus';
import { MeshError } from '@agentmesh/protocol';
import type { Mesh } from './mesh.ts';

/** How often a request is sent before its error is given to the caller. */
const attempts = 4;

/**
 * Asks a service and yields its frames, the result last. A callee that falls silent, or is busy, is replaced by another replica: the request
 * is sent again with the same payload, and the ids in it keep the work from being done twice.
 *
 * @throws MeshError as `Bus.request` does, the last one of all attempts.
 */
export async function* requestFrames(
  { bus, log }: Mesh,
  subject: string,
  payload: unknown,
  options: RequestOptions,
): AsyncGenerator<ReceivedFrame, void, void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      yield* bus.request(subject, payload, options);
      return;
    } catch (error) {
      const failure = MeshError.from(error);
      if (attempt === attempts || !isWorthRepeating(failure) || options.signal?.aborted) throw failure;
      log.warn({ subject, attempt, code: failure.code, reason: failure.message }, 'asking again');
      await pause(failure.code === 'resource_exhausted' ? attempt * 50 : 0, options.signal);
    }
  }
}

/** Asks a service and gives its result alone. @throws as {@link requestFrames} */
export async function requestResult(
  mesh: Mesh,
  subject: string,
  payload: unknown,
  options: RequestOptions,
): Promise<unknown> {
  for await (const frame of requestFrames(mesh, subject, payload, options)) {
    if (frame.type === 'result') return frame.data;
  }
  throw new MeshError('unavailable', `the answer of ${subject} ended without a result`);
}

/** Nobody there is said at once; a callee that died or is busy may have a healthy sibling. */
function isWorthRepeating({ code, details }: MeshError): boolean {
  if (code === 'resource_exhausted') return true;
  return code === 'unavailable' && details?.reason !== 'no_responders';
}

/** Waits between half of `ms` and all of it, so that those who were turned away do not come back together. */
async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (ms === 0) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms / 2 + Math.random() * (ms / 2));
  signal?.addEventListener('abort', () => resolve(), { once: true });
  await promise;
  clearTimeout(timer);
}

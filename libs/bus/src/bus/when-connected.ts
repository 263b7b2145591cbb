import { MeshError } from '@agentmesh/protocol';
import type { BrokerLink } from './broker-link.ts';

/** The longest wait of a message for the connection, in ms. */
export const connectionWaitMs = 5_000;

/**
 * Resolves when the broker is connected. Without this, the client library would drop messages that are
 * published while it is not.
 *
 * @throws MeshError `unavailable` after {@link connectionWaitMs}, or when the bus is closed
 */
export async function whenConnected(link: BrokerLink, signal?: AbortSignal): Promise<void> {
  if (link.closed.aborted) throw closedError();
  if (link.connected) return;
  const stopped = signal ? AbortSignal.any([link.closed, signal]) : link.closed;
  await new Promise<void>((resolve, reject) => {
    const finish = (error?: MeshError) => {
      clearTimeout(timer);
      removeListener();
      stopped.removeEventListener('abort', onStop);
      error ? reject(error) : resolve();
    };
    const onStop = () => finish(link.closed.aborted ? closedError() : abortError(signal?.reason));
    const timer = setTimeout(() => finish(awayError()), connectionWaitMs);
    const removeListener = link.onConnected(() => finish());
    stopped.addEventListener('abort', onStop);
    if (stopped.aborted) onStop();
  });
}

export function closedError(): MeshError {
  return new MeshError('unavailable', 'the bus is closed');
}

function awayError(): MeshError {
  return new MeshError(
    'unavailable',
    `the message server is away since ${connectionWaitMs} ms; try again later`,
  );
}

/**
 * Turns the reason of a caller's signal into an error: a timeout is a missed deadline, all else a
 * cancellation.
 */
export function abortError(reason: unknown): MeshError {
  if (reason instanceof MeshError) return reason;
  if (reason instanceof Error && reason.name === 'TimeoutError') return MeshError.from(reason);
  return new MeshError('cancelled', 'the call was cancelled', { cause: reason });
}

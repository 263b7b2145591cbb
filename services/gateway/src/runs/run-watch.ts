import { deadlineSignal } from '@agentmesh/mesh';
import type { FastifyReply } from 'fastify';
import type { GatewayContext } from '../context/context.ts';

/** Time that the gateway waits for a run's end past its deadline, in ms. */
const lateMs = 2_000;

/** The signals that end the watching of a client's run. */
export interface RunWatch extends Disposable {
  /**
   * Aborted when the watching must end: by `clientGone`, when the gateway stops, or some time after the run's
   * deadline.
   */
  signal: AbortSignal;
  /** Aborted when the client goes away before its answer is complete. */
  clientGone: AbortSignal;
}

/**
 * Returns the signals for the run of a request. Dispose them: a running timer would keep the answer in
 * memory.
 */
export function watchUntil({ config, stopping }: GatewayContext, { raw }: FastifyReply): RunWatch {
  const clientGone = new AbortController();
  const onClose = () => {
    if (!raw.writableFinished) clientGone.abort();
  };
  raw.once('close', onClose);
  if (raw.destroyed) onClose();
  const until = deadlineSignal(config.runTimeoutMs + lateMs, clientGone.signal, stopping);
  return {
    signal: until.signal,
    clientGone: clientGone.signal,
    [Symbol.dispose]: () => until[Symbol.dispose](),
  };
}

import { deadlineSignal } from '@agentmesh/mesh';
import type { FastifyReply } from 'fastify';
import type { GatewayContext } from '../context/context.ts';

/** How long the gateway waits past the deadline of a run for the word that it is over, in ms. */
const lateMs = 2_000;

/** How long a client's run is watched. */
export interface RunWatch extends Disposable {
  /** Aborted when the watching shall end: by `left`, when the gateway stops, or some time after the run's deadline. */
  signal: AbortSignal;
  /** Aborted when the client goes away before its answer is complete. */
  left: AbortSignal;
}

/** Dispose it: a timer that runs on would keep the answer in memory. */
export function watchUntil({ config, stopping }: GatewayContext, { raw }: FastifyReply): RunWatch {
  const left = new AbortController();
  const onClose = () => {
    if (!raw.writableFinished) left.abort();
  };
  raw.once('close', onClose);
  if (raw.destroyed) onClose();
  const until = deadlineSignal(config.runTimeoutMs + lateMs, left.signal, stopping);
  return { signal: until.signal, left: left.signal, [Symbol.dispose]: () => until[Symbol.dispose]() };
}

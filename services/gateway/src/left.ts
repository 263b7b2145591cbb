import { deadlineSignal } from '@agentmesh/mesh';
import type { FastifyReply } from 'fastify';
import type { GatewayContext } from './context.ts';

/** How long the gateway waits past the deadline of a run for the word that it is over, in ms. */
const lateMs = 2_000;

/** Ends the watching of a run: when the client goes away, when the gateway stops, or some time after the run's deadline. Dispose it. */
export function watchUntil(
  { config, stopping }: GatewayContext,
  { raw }: FastifyReply,
): { signal: AbortSignal; left: AbortSignal } & Disposable {
  const left = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) left.abort();
  });
  const until = deadlineSignal(config.runTimeoutMs + lateMs, left.signal, stopping);
  return { signal: until.signal, left: left.signal, [Symbol.dispose]: () => until[Symbol.dispose]() };
}

import { MeshError } from '@agentmesh/protocol';
import { connectionWaitMs } from '../../../libs/bus/src/bus/when-connected.ts';
import type { Connection } from './connection.ts';
import type { Wire } from './wire.ts';

/** The time for one attempt at a request, and the pause before the next one, in ms. */
const attemptMs = 1_000;
const pauseMs = 100;

/** Requests of one process to the server. */
export interface BrokerClient {
  /**
   * Sends a request. Fails when the connection breaks, and after a time.
   *
   * @param mayLose true if the answer may be lost, so that the caller asks again; default false
   */
  ask<T>(what: string, serve: () => T | Promise<T>, timeoutMs?: number, mayLose?: boolean): Promise<T>;
  /** Sends a request until there is an answer. @throws MeshError `unavailable` */
  insist<T>(what: string, serve: () => T | Promise<T>): Promise<{ value: T; tries: number }>;
  /** Waits for the connection, or for the end of the signals. */
  connected(...signals: AbortSignal[]): Promise<void>;
}

export function makeBrokerClient({ ops, rates }: Wire, connection: Connection): BrokerClient {
  const ask: BrokerClient['ask'] = <T>(
    what: string,
    serve: () => T | Promise<T>,
    timeoutMs = attemptMs,
    mayLose = false,
  ): Promise<T> =>
    ops.ask(connection.life, what, (isCutOff) => {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      const fail = () => finish(() => reject(new Error('no answer')));
      const timer = globalThis.setTimeout(fail, timeoutMs);
      const finish = (settle: () => void) => {
        clearTimeout(timer);
        connection.onDown.delete(fail);
        settle();
      };
      connection.onDown.add(fail);
      const isLost = mayLose && rates.lostAck > 0 && connection.random.chance(rates.lostAck);
      const answer = (settle: () => void) => {
        if (!isCutOff() && !isLost) connection.toClient(() => finish(settle));
      };
      connection.toServer(() => {
        try {
          const value = serve();
          if (!(value instanceof Promise)) return answer(() => resolve(value));
          value.then(
            (late) => answer(() => resolve(late)),
            (error: unknown) => answer(() => reject(error)),
          );
        } catch (error) {
          answer(() => reject(error));
        }
      });
      return promise;
    });
  const connected = async (...signals: AbortSignal[]) => {
    const isOver = () => connection.isOpen || [connection.closed, ...signals].some(({ aborted }) => aborted);
    while (!isOver()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = () => resolve();
      connection.onUp.add(look);
      for (const signal of [connection.closed, ...signals]) signal.addEventListener('abort', look);
      await promise;
      connection.onUp.delete(look);
      for (const signal of [connection.closed, ...signals]) signal.removeEventListener('abort', look);
    }
  };
  const insist = async <T>(what: string, serve: () => T | Promise<T>) => {
    const startedAt = performance.now();
    const left = () => connectionWaitMs - (performance.now() - startedAt);
    for (let tries = 1; ; tries += 1) {
      try {
        if (!connection.isOpen) throw new Error('no connection');
        return { value: await ask(what, serve, attemptMs, true), tries };
      } catch (cause) {
        if (cause instanceof MeshError) throw cause;
        if (left() <= 0 || connection.closed.aborted)
          throw new MeshError('unavailable', `${what}: no answer within ${connectionWaitMs} ms`, { cause });
        await new Promise<void>((resolve) => globalThis.setTimeout(resolve, pauseMs));
      }
    }
  };
  return { ask, insist, connected };
}

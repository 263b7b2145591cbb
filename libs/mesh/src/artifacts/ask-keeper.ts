import { setTimeout as delay } from 'node:timers/promises';
import type { Bus } from '@agentmesh/bus';
import { type KeeperAnswer, type KeeperRequest, keeperAnswers, MeshError, parse } from '@agentmesh/protocol';
import type { z } from 'zod';

/** Time that a request waits for a keeper that is away or busy, in ms. */
const patienceMs = 15_000;
/** Pauses between two tries, in ms: the first and the longest. */
const firstPauseMs = 50;
const longestPauseMs = 1_000;

type Verb = KeeperRequest['do'];
type RequestOf<V extends Verb> = Omit<Extract<KeeperRequest, { do: V }>, 'do'>;

/** Asks a keeper, and another one when it gives no answer. All requests may be repeated. */
export type AskKeeper = <V extends Verb>(verb: V, request: RequestOf<V>) => Promise<KeeperAnswer<V>>;

/**
 * Makes the function by which a service asks keepers for files.
 *
 * @throws from that function: MeshError as {@link askPatiently}, and the errors of artifacts
 */
export function askKeeper(bus: Pick<Bus, 'request'>, subject: string, withinMs = patienceMs): AskKeeper {
  return async <V extends Verb>(verb: V, request: RequestOf<V>) => {
    const answer = await askPatiently(bus, subject, { do: verb, ...request }, { what: 'files', withinMs });
    const schema: z.ZodType = keeperAnswers[verb];
    return parse(schema, answer, 'the answer of a keeper') as KeeperAnswer<V>;
  };
}

/**
 * Asks a keeper, and another one when it gives no answer.
 *
 * @param request a request that may be repeated
 * @param what the subject of the request, for the error
 * @throws MeshError `unavailable` when no keeper answers for 15 seconds, `permission_denied` without work in hand
 */
export async function askPatiently(
  bus: Pick<Bus, 'request'>,
  subject: string,
  request: object,
  { what, withinMs = patienceMs }: { what: string; withinMs?: number },
): Promise<unknown> {
  const until = performance.now() + withinMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      return await ask(bus, subject, request);
    } catch (error) {
      const failure = MeshError.from(error);
      if (!failure.retryable) throw failure;
      if (performance.now() + pauseMs >= until) throw noKeeper(failure, what, withinMs);
      await delay(pauseMs);
    }
  }
}

async function ask(bus: Pick<Bus, 'request'>, subject: string, request: object): Promise<unknown> {
  for await (const frame of bus.request(subject, request)) if (frame.type === 'result') return frame.data;
  throw new MeshError('unavailable', 'the answer of a keeper ended without a result');
}

function noKeeper(cause: MeshError, what: string, withinMs: number): MeshError {
  return new MeshError(
    'unavailable',
    `no keeper answers within ${withinMs / 1_000} s, so ${what} cannot be reached: ${cause.message}; start a keeper, or another one`,
    { cause },
  );
}

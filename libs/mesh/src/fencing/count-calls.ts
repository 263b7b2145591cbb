import type { CallCount, InvocationRef, Invocations } from '@agentmesh/agent/internal';

/**
 * Returns a function that counts a model call of a run and returns the total of the invocation. Far from the limit
 * the commit that follows the call counts it, which saves a request; such a call is not counted when the process
 * dies in between. Near the limit the call is counted at once, so the limit holds exactly.
 *
 * @param calls the calls of this run that the store does not know
 * @param most number of model calls that the invocation may make; 0 for any number
 */
export function countCalls(
  invocations: Invocations,
  calls: CallCount,
  { token, most }: { token: number | undefined; most: number },
): (ref: InvocationRef) => Promise<number> {
  return async (ref) => {
    const total = calls.counted + calls.uncounted + 1;
    // The other half is left for calls of other processes that this one has not heard of.
    if (most <= 0 || total <= most / 2) {
      calls.uncounted += 1;
      return total;
    }
    for (; calls.uncounted > 0; calls.uncounted -= 1) await invocations.countLlmCall(ref, token);
    calls.counted = await invocations.countLlmCall(ref, token);
    return calls.counted;
  };
}

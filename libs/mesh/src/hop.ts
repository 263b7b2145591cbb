import { type Headers, header, MeshError, maxDepth, nextTrace } from '@agentmesh/protocol';

/** The headers of a message sent on behalf of what came with `incoming`: same trace, same deadline, same depth. */
export function hopHeaders(incoming: Headers): Headers {
  const deadline = incoming[header.deadline];
  const depth = incoming[header.depth];
  return {
    ...nextTrace(incoming),
    ...(deadline !== undefined && { [header.deadline]: deadline }),
    ...(depth !== undefined && { [header.depth]: depth }),
  };
}

/**
 * The headers of an ask: one level deeper.
 *
 * @throws MeshError `failed_precondition` past the depth limit: agents that ask each other in a circle end here.
 */
export function askHeaders(incoming: Headers): Headers {
  const depth = Number(incoming[header.depth] ?? 0) + 1;
  if (depth > maxDepth) {
    throw new MeshError(
      'failed_precondition',
      `agents ask each other ${maxDepth} deep; look for two that use each other as tools`,
    );
  }
  return { ...hopHeaders(incoming), [header.depth]: String(depth) };
}

/** When nobody waits for the answer any more, epoch ms; undefined when no deadline was sent, or one that is no number. */
export function deadlineOf(headers: Headers): number | undefined {
  const deadline = Number(headers[header.deadline]);
  return headers[header.deadline] !== undefined && Number.isFinite(deadline) ? deadline : undefined;
}

/** Aborts at the deadline of the headers or with one of `signals`, whichever is first. */
export function signalOf(headers: Headers, ...signals: AbortSignal[]): AbortSignal {
  const deadline = deadlineOf(headers);
  if (deadline === undefined) return AbortSignal.any(signals);
  // Timers hold 31 bits: what is further away is as good as never for a process.
  const wait = Math.min(Math.max(deadline - Date.now(), 0), 2 ** 31 - 1);
  return AbortSignal.any([AbortSignal.timeout(wait), ...signals]);
}

import { type Headers, header, MeshError, maxDepth, nextTrace } from '@agentmesh/protocol';

/**
 * Returns the headers of a message that is sent on behalf of the message with `incoming`: same trace,
 * deadline, depth, token, continuation and caller.
 */
export function hopHeaders(incoming: Headers): Headers {
  const deadline = incoming[header.deadline];
  const depth = incoming[header.depth];
  const token = incoming[header.token];
  const resume = incoming[header.resume];
  const identity = incoming[header.identity];
  return {
    ...nextTrace(incoming),
    ...(deadline !== undefined && { [header.deadline]: deadline }),
    ...(depth !== undefined && { [header.depth]: depth }),
    ...(token !== undefined && { [header.token]: token }),
    ...(resume !== undefined && { [header.resume]: resume }),
    ...(identity !== undefined && { [header.identity]: identity }),
  };
}

/**
 * Returns the headers of a message that continues the work of the message with `incoming` without a waiting
 * caller: the same trace, and no deadline.
 */
export function traceHeaders({ traceparent, tracestate }: Headers): Headers {
  return hopHeaders({ ...(traceparent && { traceparent }), ...(tracestate && { tracestate }) });
}

/**
 * Returns the headers of an ask: one level deeper.
 *
 * @throws MeshError `failed_precondition` past the depth limit, where agents that ask each other in a circle
 * end
 */
export function askHeaders(incoming: Headers): Headers {
  const depth = Number(incoming[header.depth] ?? 0) + 1;
  // A depth that is not a number counts as too deep.
  if (!(depth >= 1 && depth <= maxDepth)) {
    throw new MeshError(
      'failed_precondition',
      `agents ask each other ${maxDepth} deep; look for two that use each other as tools`,
    );
  }
  return { ...hopHeaders(incoming), [header.depth]: String(depth) };
}

import { MeshError } from '@agentmesh/protocol';
import { type LlmRequest, readContents } from '../base/base-llm.ts';
import type { InvocationContext } from '../base/invocation-context.ts';

/**
 * Number of times that an agent may make the same request while the log stays as it is. Code that runs an agent may
 * ask several times and take the best answer; beyond this number it is a loop without an end.
 */
const mostRepeats = 50;

/**
 * Ends code that runs an agent again and again although nothing new has come into the log, whatever the limit of model
 * calls is.
 *
 * @throws MeshError `failed_precondition` for one request too many
 */
export function assertNotEndless(context: InvocationContext, request: LlmRequest, logLength: number): void {
  const { agent } = context;
  const repeats = context.requestsAt(logLength);
  // The first request since the last event needs no comparison: a long conversation takes time to serialize.
  if (repeats.size === 0) return void repeats.set(agent.name, 0);
  const key = `${agent.name} ${shapeOf(request)}`;
  const count = (repeats.get(key) ?? 0) + 1;
  repeats.set(key, count);
  if (count <= mostRepeats) return;
  throw new MeshError(
    'failed_precondition',
    `agent ${agent.name} has sent the same request to its model ${mostRepeats} times, and the session has no new event: end the loop that runs it`,
  );
}

function shapeOf(request: LlmRequest): string {
  const asText = (_key: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);
  return JSON.stringify([request.model, readContents(request), request.config], asText);
}

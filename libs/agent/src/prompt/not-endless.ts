import { type Event, MeshError } from '@agentmesh/protocol';
import { type LlmRequest, readContents } from '../base/base-llm.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import { isOnBranch } from '../events/agent-path.ts';

/**
 * Number of times that an agent may make the same request while nothing new comes into the log. Code that runs an
 * agent may ask several times and take the best answer; beyond this number it is a loop without an end.
 */
const mostRepeats = 50;

/**
 * Refuses a request that can bring nothing new, whatever the limit of model calls is: without
 * anything new in the log, the same request twice within one run of an agent, or again and again in several runs.
 *
 * @param before the request before, of the same run
 * @throws MeshError `failed_precondition`
 */
export function assertNotEndless(
  context: InvocationContext,
  request: LlmRequest,
  before: LlmRequest | undefined,
): void {
  const { name } = context.agent;
  const repeats = repeatsSinceNews(context);
  // The first request since the last event needs no comparison: a long conversation takes time to serialize.
  if (repeats.size === 0) return void repeats.set('', 0);
  if (before && isSame(request, before)) {
    throw new MeshError(
      'failed_precondition',
      `agent ${name} would send the same request to its model again, because its last step left nothing that the model sees: look at the code that changes its events or its requests`,
    );
  }
  const key = shapeOf(request);
  const count = (repeats.get(key) ?? 0) + 1;
  repeats.set(key, count);
  if (count <= mostRepeats) return;
  throw new MeshError(
    'failed_precondition',
    `agent ${name} has sent the same request to its model ${mostRepeats} times, and the session has no new event: end the loop that runs it`,
  );
}

/** Returns the counts of the agent's equal requests since the last event of the log that is news for it. */
function repeatsSinceNews({ agent, branch, session, notes }: InvocationContext): Map<string, number> {
  const { events, seq } = session;
  const before = notes.requests.get(agent.name);
  const added = before ? seq - before.seq : 0;
  const hasNews =
    added > 0 && events.slice(-added).some((event) => isOnBranch(event.branch, branch) && isNews(event));
  const counts = before && !hasNews ? before.counts : new Map<string, number>();
  notes.requests.set(agent.name, { seq, counts });
  return counts;
}

/** Tells whether an event says anything. User code may have emptied it. */
function isNews({ content, errorCode }: Event): boolean {
  return (content?.parts?.length ?? 0) > 0 || errorCode !== undefined;
}

function isSame(one: LlmRequest, other: LlmRequest): boolean {
  // A conversation that grows is not serialized.
  return readContents(one).length === readContents(other).length && shapeOf(one) === shapeOf(other);
}

function shapeOf(request: LlmRequest): string {
  const asText = (_key: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);
  return JSON.stringify([request.model, readContents(request), request.config], asText);
}

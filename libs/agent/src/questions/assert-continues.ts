import { type Event, MeshError } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import { logIndex } from '../events/log-index.ts';

/**
 * Checks that a message continues an invocation: it answers questions or calls of that invocation.
 *
 * @param where `events`: the events with the answered calls, perhaps among others
 * @throws MeshError `failed_precondition` for a message that answers nothing, or another invocation
 */
export function assertContinues(
  { parts = [] }: Content,
  { events, invocationId }: { events: readonly Event[]; invocationId: string },
): void {
  const answered = parts.flatMap(({ functionResponse }) => functionResponse?.id ?? []);
  if (answered.length === 0) {
    throw new MeshError(
      'failed_precondition',
      `invocation ${invocationId} continues only with an answer to its own question; send a function response, or leave invocationId out`,
    );
  }
  for (const id of answered) {
    const asking = logIndex(events).firstCallOf([id]);
    if (asking?.invocationId === invocationId) continue;
    throw new MeshError(
      'failed_precondition',
      `call ${id} was not made by invocation ${invocationId}${asking ? ` but by ${asking.invocationId}` : ''}; send the id of the one that asked, or leave invocationId out`,
    );
  }
}

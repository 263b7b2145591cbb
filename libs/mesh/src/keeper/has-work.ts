import type { SessionService } from '@agentmesh/agent';
import type { SessionWork } from '@agentmesh/agent/internal';
import type { SessionRef } from '@agentmesh/protocol';
import { serviceName, toolOf } from '../mesh/service-name.ts';

/**
 * Tells whether a service works for a session now, from the records of the store alone:
 *
 * - an agent: the run that has the session is at it, or it was asked within this run;
 * - a tool: a call of the run that has the session, in this session or in a child session, is noted for it, or a
 *   long-running call of it waits for its outcome.
 */
export async function hasWork(
  { invocations, pending }: Pick<SessionService, 'invocations' | 'pending'>,
  service: string,
  ref: SessionRef,
): Promise<boolean> {
  const work = await invocations.workIn(ref);
  const tool = toolOf(service);
  if (tool === undefined) return work !== undefined && agentsOf(work).includes(service);
  if (work?.tools.includes(tool)) return true;
  for (const { sessionId, invocationId } of await pending.ofTool(ref, tool)) {
    if (sessionId === ref.sessionId) return true;
    // A call in a child session: its files lie in the session of the run.
    const { home } = await invocations.get({ ...ref, invocationId });
    if (home === ref.sessionId) return true;
  }
  return false;
}

/** Returns the services of the agents that work for a run. */
function agentsOf({ agent, parts }: SessionWork): string[] {
  const names = [agent, ...parts.map(askedAgent)].filter((name) => name !== undefined);
  return names.map((name) => serviceName('agent', name));
}

/** Returns the agent of a part that is an ask, see `askPart`; undefined for another part. */
function askedAgent(part: string): string | undefined {
  if (!part.startsWith('[')) return undefined;
  const [agent]: unknown[] = JSON.parse(part);
  return typeof agent === 'string' ? agent : undefined;
}

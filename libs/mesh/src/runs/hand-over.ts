import type { Session } from '@agentmesh/agent';
import { logIndex, messageEventId, runKey } from '@agentmesh/agent/internal';
import type { WorkOutcome } from '@agentmesh/bus';
import { encodeToken } from '@agentmesh/protocol';
import type { ServedAgent } from '../mesh/served-agent.ts';
import { hopHeaders } from '../messages/carrier.ts';
import type { DeliveredRun, OpenRun, Run } from './run.ts';

/**
 * Hands the run to the agent to which the conversation was transferred. Undefined while the conversation is
 * at an agent of this process.
 */
export async function continueElsewhere(
  served: ServedAgent,
  run: Run,
  delivery: OpenRun,
): Promise<WorkOutcome | undefined> {
  const handover = handedElsewhere(served, run, delivery.session);
  if (handover === 'taken') return { done: true };
  return handover && (await handOver(served, run, handover.to, delivery));
}

/**
 * Tells whether the invocation was handed to a remote agent. If it was, only the publication of the next hop
 * may be missing: while no event of the other agents is in the log, an earlier delivery may have died before
 * it published the hop. Transfers within a step of a workflow do not count here.
 */
function handedElsewhere(
  served: ServedAgent,
  run: Run,
  { id: sessionId, events }: Session,
): { to: string } | 'taken' | undefined {
  const index = logIndex(events);
  const messageAt = index.positionOf(messageEventId(run, sessionId));
  // The events from before the continuation must not be handed over again.
  if (messageAt === undefined && run.resume !== undefined) return undefined;
  const ownEvents = index
    .ofInvocations([run.invocationId], messageAt)
    .filter(({ nodeInfo }) => nodeInfo === undefined);
  const at = ownEvents.findLastIndex(({ actions }) => actions.transferToAgent !== undefined);
  const to = ownEvents[at]?.actions.transferToAgent;
  if (to === undefined || isHere(served, to)) return undefined;
  return ownEvents.slice(at).every(({ author = '' }) => isHere(served, author)) ? { to } : 'taken';
}

function isHere({ agent }: ServedAgent, name: string): boolean {
  const namedAgent = agent.findAgent(name);
  return namedAgent !== undefined && !namedAgent.isRemote;
}

/**
 * Publishes the next hop. Must come before the acknowledgement of this hop. The message id keeps a second
 * publication, by another delivery of the same message, from becoming a second hop. When the run was published
 * again because it gave no sign of life, the next hop may be lost too, so that message has a hop of its own. The
 * id names the user, because two users may have runs of the same invocation id.
 */
export async function handOver(
  { mesh }: ServedAgent,
  run: Run,
  to: string,
  { item, carrier }: Pick<DeliveredRun, 'item' | 'carrier'>,
): Promise<WorkOutcome> {
  const hop = run.hop + 1;
  const owner = `${encodeToken(run.app)}.${encodeToken(run.user)}`;
  const { message: _message, stateDelta: _delta, client: _client, fresh: _fresh, ...rest } = run;
  await mesh.bus.enqueue(
    mesh.subjects.agentRun(to, run.session),
    { ...rest, hop },
    { messageId: `${owner}:${runKey(run)}:${hop}:${item.key}`, headers: hopHeaders(carrier) },
  );
  mesh.callCounts.add({ to, kind: 'agent', how: 'transfer' }, false);
  mesh.log.debug({ invocationId: run.invocationId, to, hop }, 'handed over');
  return { done: true };
}

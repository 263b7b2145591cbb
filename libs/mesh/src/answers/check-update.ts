import { AgentTool, type BaseAgent, BaseToolset, LlmAgent } from '@agentmesh/agent';
import { unknownPerson } from '@agentmesh/agent/internal';
import type { WorkItem } from '@agentmesh/bus';
import {
  type AnsweredBy,
  MeshError,
  type OperationUpdate,
  operationUpdateSchema,
  readOperation,
  type SessionRef,
} from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import type { ServedAgent } from '../mesh/served-agent.ts';
import { clientService, gatewayService, toolOf } from '../mesh/service-name.ts';
import { audit, auditActions } from '../messages/audit.ts';
import { writableState } from '../messages/tool-actions.ts';
import type { LocatedCall } from './start-answer-run.ts';

/**
 * Checks that the update is for a call of this service, and that a question gets only a final update that
 * wakes the agent: only such an update is checked as an answer. A tool may update the calls that were made to
 * it; the gateway and other programs may answer each call; nobody else may.
 *
 * @param service the publisher, for which the bus vouches
 * @throws MeshError `permission_denied`, `invalid_argument`
 */
export function assertMayUpdate(
  { agent }: ServedAgent,
  { callId, pending }: LocatedCall,
  { update, service }: { update: OperationUpdate; service: string },
): void {
  const tool = toolOf(service);
  if (tool === undefined && service !== clientService && service !== gatewayService) {
    throw new MeshError(
      'permission_denied',
      `${service} may not answer call ${callId}; only the gateway, ${clientService} and the tool of the call may`,
    );
  }
  if (!pending) return;
  const { service: owner = agent.name, kind, name } = pending;
  if (owner !== agent.name) {
    throw new MeshError(
      'permission_denied',
      `call ${callId} was made by the service of ${owner}; publish there`,
    );
  }
  if (tool !== undefined && !(kind === 'result' && isCallOf(agent, name, tool))) {
    throw new MeshError(
      'permission_denied',
      `tool ${tool} may not answer call ${callId}: ${kind === 'result' ? `it is a call of ${name}` : `${name} asks a person`}`,
    );
  }
  if (kind !== 'result' && !(update.final && (update.wake ?? true))) {
    throw new MeshError(
      'invalid_argument',
      `${name} ${callId} asks a person: answer it with a final update that wakes the agent`,
    );
  }
}

/** Tells whether an agent's call of this name goes to a tool, perhaps under the prefix of a toolset. */
function isCallOf(agent: BaseAgent, name: string, tool: string): boolean {
  return name === tool || prefixesOf(agent).some((prefix) => name === `${prefix}_${tool}`);
}

/** Returns the prefixes of all toolsets of an agent, of the agents below it, and of those that it asks here. */
function prefixesOf(agent: BaseAgent): string[] {
  return [...agent.tree()].flatMap((each) =>
    each instanceof LlmAgent
      ? each.tools.flatMap((tool) => {
          if (tool instanceof AgentTool) return prefixesOf(tool.agent);
          return tool instanceof BaseToolset && tool.prefix ? [tool.prefix] : [];
        })
      : [],
  );
}

/** Leaves out the state that the tool of an update may not write. */
export function withOwnState(
  { mesh, writesOf }: ServedAgent,
  { callId, service, ref }: { callId: string; service: string; ref: SessionRef },
  update: OperationUpdate,
): OperationUpdate {
  const tool = toolOf(service);
  if (tool === undefined || update.stateDelta === undefined) return update;
  const { own, refused } = writableState(update.stateDelta, writesOf(tool));
  auditActions(mesh, { tool, callId, refused, session: ref });
  return { ...update, stateDelta: own };
}

/** Returns the source of an answer: the publisher, and the person as the publisher says. */
export function sourceOf({ by, roles, seq }: OperationUpdate, service: string): AnsweredBy {
  const isJob = seq !== undefined && toolOf(service) !== undefined;
  return {
    by: by ?? unknownPerson,
    via: isJob ? 'job' : 'nats',
    service,
    ...(roles && { roles }),
  };
}

/** Records that an update was refused because of its publisher, or because of the person who answers. */
export function auditRefusal(mesh: Mesh, item: WorkItem, { code, message }: MeshError): void {
  if (code !== 'permission_denied') return;
  const { callId, service } = readOperation(item.subject);
  const { data } = operationUpdateSchema.safeParse(item.json());
  void audit(mesh, `${item.subject}/${item.key}`, {
    ...{ decision: 'refused', callIds: [callId], reason: message },
    answeredBy: data ? sourceOf(data, service) : { by: unknownPerson, via: 'nats', service },
  });
}

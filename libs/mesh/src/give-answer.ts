import type { PendingCall } from '@agentmesh/agent';
import type { AnsweredBy, Headers, OperationUpdate, SessionRef } from '@agentmesh/protocol';
import type { Content, FunctionResponse } from '@google/genai';
import { agentCard } from './mesh.ts';
import type { ServedAgent } from './serve-agent.ts';

/** A call, and where it was made. */
export interface Asked {
  ref: SessionRef;
  callId: string;
  /** Undefined when it does not wait any more. */
  pending: PendingCall | undefined;
}

export interface Outcome {
  invocationId: string;
  response: Record<string, unknown>;
  update: Pick<OperationUpdate, 'final' | 'stateDelta'>;
  answeredBy: AnsweredBy;
  headers: Headers;
}

/** The agent that called hears the response in a run of its own. Published again under the same id it is the same run. */
export async function giveToAgent(
  { mesh, agent }: ServedAgent,
  { ref, pending }: Asked & { pending: PendingCall },
  { invocationId, response, update, answeredBy, headers }: Outcome,
): Promise<void> {
  const [workflow] = pending.path?.split('.') ?? [];
  const to =
    [workflow, pending.agent].find((name) => name !== undefined && agentCard(mesh, name)) ?? agent.name;
  const { appName: app, userId: user, sessionId: session } = ref;
  const { final, stateDelta } = update;
  const message = messageOf(pending, response, final ? undefined : true);
  await mesh.bus.enqueue(
    mesh.subjects.agentRun(to),
    { invocationId, app, user, session, message, answeredBy, ...(stateDelta && { stateDelta }) },
    { messageId: `${invocationId}:0`, headers },
  );
  mesh.log.debug({ invocationId, to, callId: pending.id }, 'a call has its answer');
}

export function messageOf({ id, name }: PendingCall, response: unknown, willContinue?: boolean): Content {
  return { role: 'user', parts: [{ functionResponse: responsePart(id, name, response, willContinue) }] };
}

export function responsePart(
  id: string,
  name: string,
  response: unknown,
  willContinue?: boolean,
): FunctionResponse {
  return {
    id,
    name,
    response: response as Record<string, unknown>,
    ...(willContinue !== undefined && { willContinue }),
  };
}

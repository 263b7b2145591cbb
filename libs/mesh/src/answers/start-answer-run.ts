import type { PendingCall } from '@agentmesh/agent';
import { answerDigest, functionCallIdPrefix, type RunId, runKey } from '@agentmesh/agent/internal';
import {
  type AnsweredBy,
  type Headers,
  MeshError,
  type OperationUpdate,
  type SessionRef,
} from '@agentmesh/protocol';
import type { Content, FunctionResponse } from '@google/genai';
import { agentCard } from '../mesh/cards.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { rootOf } from '../mesh/root-agent.ts';
import type { ServedAgent } from '../mesh/served-agent.ts';
import { vouchFor } from './answer-source.ts';
import { sealAnswers } from './sealed-answers.ts';

/** A call, and the session in which it was made. */
export interface LocatedCall {
  ref: SessionRef;
  callId: string;
  /** Undefined if the call is not pending any more. */
  pending: PendingCall | undefined;
}

export interface Outcome {
  run: RunId;
  response: Record<string, unknown>;
  update: Pick<OperationUpdate, 'final' | 'stateDelta'>;
  answeredBy: AnsweredBy;
  headers: Headers;
}

/**
 * Returns the run in which the agent gets an answer: always the same run for the same message. In a resumable
 * app this run continues the invocation that made the call; in any other app it begins a new invocation. For
 * an agent that is used as a tool the run also begins a new invocation, because such an agent works in the
 * invocation of its caller.
 *
 * @param key identifies the message
 */
export async function runFor(
  mesh: Mesh,
  { ref, callId }: LocatedCall,
  pending: PendingCall,
  key: string,
): Promise<RunId> {
  const digest = answerDigest([ref, callId, key]);
  const isChild = ref.sessionId.startsWith(functionCallIdPrefix);
  return !isChild && (await isResumable(mesh, ref.appName))
    ? { invocationId: pending.invocationId, resume: `r-${digest}` }
    : { invocationId: `e-${digest}` };
}

async function isResumable(mesh: Mesh, app: string): Promise<boolean> {
  try {
    return (await rootOf(mesh, app)).resumable;
  } catch (error) {
    if (MeshError.from(error).retryable) throw error;
    return false;
  }
}

/**
 * Gives the response to the agent that made the call, as a run of its own. A second publication with the same
 * id starts no second run.
 */
export async function startAnswerRun(
  { mesh, agent }: ServedAgent,
  { ref, pending }: LocatedCall & { pending: PendingCall },
  { run, response, update, answeredBy, headers }: Outcome,
): Promise<void> {
  const [workflow] = pending.path?.split('.') ?? [];
  const to =
    [workflow, pending.agent].find((name) => name !== undefined && agentCard(mesh, name)) ?? agent.name;
  const { appName: app, userId: user, sessionId: session } = ref;
  const { final, stateDelta } = update;
  const message = await sealAnswers(mesh, ref, messageOf(pending, response, final ? undefined : true));
  const source = await vouchFor(mesh, 'agent', { ...ref, ...run, message }, answeredBy);
  await mesh.bus.enqueue(
    mesh.subjects.agentRun(to, session),
    { ...run, app, user, session, message, answeredBy, ...(stateDelta && { stateDelta }) },
    { messageId: `${runKey(run)}:0`, headers: { ...headers, ...source } },
  );
  mesh.log.debug({ ...run, to, callId: pending.id }, 'a call has its answer');
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

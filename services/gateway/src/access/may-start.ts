import { questionNames } from '@agentmesh/agent/internal';
import type { ClientInput, messageSchema } from '@agentmesh/protocol';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { callerOf, hasRole } from './caller.ts';
import { actsFor, assertMayWriteState, assertRole } from './check-access.ts';

type Message = z.output<typeof messageSchema>;

/** The parts of a run request that need rights. */
interface WantedRun {
  appName: string;
  userId: string;
  message: Message;
  stateDelta?: Record<string, unknown> | null | undefined;
  client?: ClientInput | null | undefined;
}

/**
 * Checks that the caller may start this run: in its own sessions as a user, in all sessions as an operator. An
 * approver may answer confirmations in the sessions of others, and nothing else; the definition of the tool
 * says which of them.
 *
 * @throws MeshError `permission_denied`
 */
export function assertMayStart(request: FastifyRequest, wanted: WantedRun): void {
  const { appName, userId, message, stateDelta, client } = wanted;
  const caller = callerOf(request);
  assertRole(caller, appName, 'user', 'to start a run');
  assertMayWriteState(request, appName, stateDelta);
  if (actsFor(caller, userId) || hasRole(caller, appName, 'operator')) return;
  if (isConfirmation(message) && Object.keys(stateDelta ?? {}).length === 0 && !client)
    assertRole(caller, appName, 'approver', `to answer a confirmation in a session of user ${userId}`);
  else assertRole(caller, appName, 'operator', `to start a run in a session of user ${userId}`);
}

/** Tells whether a message holds answers to confirmations alone. */
function isConfirmation({ parts }: Message): boolean {
  const isAnswer = ({ functionResponse, ...others }: NonNullable<Message['parts']>[number]) =>
    functionResponse?.name === questionNames.confirmation && Object.keys(others).length === 0;
  return parts !== undefined && parts.length > 0 && parts.every(isAnswer);
}

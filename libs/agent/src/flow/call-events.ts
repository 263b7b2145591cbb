import type { Event, EventActions } from '@agentmesh/protocol';
import type { FunctionCall, Part } from '@google/genai';
import type { InvocationContext } from '../base/invocation-context.ts';
import { createEvent } from '../events/event.ts';
import type { Json } from './tool-work.ts';

/**
 * Makes the id of the event that holds the effects of calls without a response. The event records that the
 * calls were made.
 */
export function effectsId(callEvent: Pick<Event, 'id'>): string {
  return `${callEvent.id}/effects`;
}

/**
 * Makes the id of the event for a call's nth progress. The event has this id whichever way the progress
 * arrives, so it is committed once. Each answer starts a new count, because the call runs again with the
 * answer.
 */
export function progressId(callId: string, n: number, answers = 0): string {
  return [callId, 'progress', ...(answers > 0 ? [answers] : []), n].join('/');
}

/** Makes the response to a call. */
export function responseTo({ id, name = '' }: FunctionCall, response: Json, willContinue?: boolean): Part {
  return {
    functionResponse: {
      ...(id !== undefined && { id }),
      name,
      response,
      ...(willContinue !== undefined && { willContinue }),
    },
  };
}

/** Makes the event that holds responses to calls. */
export function responseEvent(
  { invocationId, agent, branch }: InvocationContext,
  parts: Part[],
  actions: EventActions,
): Event {
  return createEvent({
    invocationId,
    author: agent.name,
    ...(branch !== undefined && { branch }),
    content: { role: 'user', parts },
    actions,
  });
}

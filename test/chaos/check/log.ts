import { getFunctionCalls, getFunctionResponses } from '@agentmesh/agent';
import type { StoredEvent } from '@agentmesh/agent/internal';
import type { Event } from '@agentmesh/protocol';

export function ofInvocation(events: readonly StoredEvent[], invocationId: string): StoredEvent[] {
  return events.filter(({ event }) => event.invocationId === invocationId);
}

/**
 * Tells whether an event is an agent's last answer: it holds no call, no response and no transfer, or it
 * reports a failure.
 */
export function isEnd(event: Event): boolean {
  if (event.author === 'user' || event.partial) return false;
  const isStep = getFunctionCalls(event).length > 0 || getFunctionResponses(event).length > 0;
  return !isStep && (event.errorCode !== undefined || (event.content?.parts?.length ?? 0) > 0);
}

/** Returns the calls and responses of one log, with their positions. */
export function callsOf(events: readonly StoredEvent[]) {
  return events.flatMap(({ seq, event }) =>
    getFunctionCalls(event).map(({ id = '', name = '' }) => ({
      id,
      name,
      seq,
      invocationId: event.invocationId,
    })),
  );
}

export function responsesOf(events: readonly StoredEvent[]) {
  return events.flatMap(({ seq, event }) =>
    getFunctionResponses(event)
      .filter(({ willContinue }) => !willContinue)
      .map(({ id = '', response = {} }) => ({ id, response, seq, invocationId: event.invocationId })),
  );
}

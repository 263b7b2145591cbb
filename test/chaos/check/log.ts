import { getFunctionCalls, getFunctionResponses } from '@agentmesh/agent';
import type { StoredEvent } from '@agentmesh/agent/internal';
import type { Event } from '@agentmesh/protocol';
import type { SessionHistory } from './history.ts';

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

/** Returns the words of an event. */
export function textOf(event: Event): string {
  return (event.content?.parts ?? []).map(({ text = '' }) => text).join('');
}

/** Tells whether an event takes a session back to an earlier invocation. */
export function isRewind(event: Event): boolean {
  return event.actions.rewindBeforeInvocationId !== undefined;
}

/**
 * Tells whether an event is committed beside the runs: progress or an outcome of a long-running call that
 * does not wake its agent, or the expiry of the calls of a copied session. Such an event may stand between
 * the events of any run, also after the end of its invocation.
 */
export function isAside(event: Event): boolean {
  const { customMetadata = {} } = event;
  const answeredBy = customMetadata.answeredBy as { by?: string } | undefined;
  if (event.author === 'user') return answeredBy?.by === 'copy';
  return getFunctionResponses(event).some(({ id }) =>
    ['outcome', 'update', 'progress'].some((word) => `${event.id}/`.startsWith(`${id}/${word}/`)),
  );
}

/** One function call in a log. */
export interface LoggedCall {
  id: string;
  name: string;
  seq: number;
  invocationId: string;
  /** True for a question, a ticket or a job: its final response comes from outside. */
  isLong: boolean;
  /** The id of the call about which a question asks. */
  about?: string;
}

/** Returns the calls of one log, with their positions. */
export function callsOf(events: readonly StoredEvent[]): LoggedCall[] {
  return events.flatMap(({ seq, event }) =>
    getFunctionCalls(event).map(({ id = '', name = '', args }) => {
      const about = (args?.originalFunctionCall as { id?: string } | undefined)?.id;
      return {
        ...{ id, name, seq, invocationId: event.invocationId },
        isLong: event.longRunningToolIds?.includes(id) ?? false,
        ...(about !== undefined && { about }),
      };
    }),
  );
}

/** One final response in a log. */
export interface LoggedResponse {
  id: string;
  response: Record<string, unknown>;
  seq: number;
  invocationId: string;
  /** True when a message brought it: a person's answer, or an outcome that woke its agent. */
  isMessage: boolean;
}

/**
 * Returns the final responses of one log. Progress is not final. The first response of a long-running call is
 * final only when it says so.
 */
export function responsesOf(events: readonly StoredEvent[]): LoggedResponse[] {
  const long = new Set(callsOf(events).flatMap(({ id, isLong }) => (isLong ? [id] : [])));
  return events.flatMap(({ seq, event }) =>
    getFunctionResponses(event)
      .filter(({ id = '', willContinue }) => {
        if (willContinue) return false;
        return !long.has(id) || willContinue === false || event.author === 'user';
      })
      .map(({ id = '', response = {} }) => ({
        ...{ id, response, seq },
        invocationId: event.invocationId,
        isMessage: event.author === 'user',
      })),
  );
}

/** Returns the ids of the calls that were closed without a response: by a rewind, or by a cancellation. */
export function closedCallsOf(events: readonly StoredEvent[]): Set<string> {
  return new Set(events.flatMap(({ event }) => event.actions.closedCalls ?? []));
}

/** Returns the sessions to which clients write. The other ones belong to calls of agents. */
export function rootsOf(sessions: readonly SessionHistory[]): SessionHistory[] {
  return sessions.filter(({ callId }) => callId === undefined);
}

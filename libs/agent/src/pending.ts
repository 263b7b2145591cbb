import type { Event } from '@agentmesh/protocol';
import { createEvent, getFunctionCalls, getFunctionResponses } from './event.ts';
import { questionNames } from './flow/questions.ts';
import { pathOf } from './journal.ts';

/** A call that waits for an answer from outside. */
export interface PendingCall {
  /** What is answered: a function response of this id. */
  id: string;
  name: string;
  args: Record<string, unknown>;
  /** What kind of answer is wanted; `result` for a long-running tool, or a call that the client makes. */
  kind: 'confirmation' | 'credential' | 'input' | 'result';
  sessionId: string;
  invocationId: string;
  /** Who called. */
  agent: string;
  /** The run of a workflow that it was made in; absent outside of one. */
  path?: string;
  /** When it was committed, epoch ms. */
  created: number;
}

/** The event that made a call, as far as what waits tells of it: an answer can be checked without the session's log. */
export function askingEvent({ id, name, args, invocationId, agent, path, created }: PendingCall): Event {
  return createEvent({
    invocationId,
    author: agent,
    timestamp: created,
    content: { role: 'model', parts: [{ functionCall: { id, name, args } }] },
    longRunningToolIds: [id],
    ...(path !== undefined && { nodeInfo: { path } }),
  });
}

/** What an event changes in what is waited for: calls that stay open, and the ids of those that are answered for good. */
export function pendingChanges(event: Event, sessionId: string): { opened: PendingCall[]; closed: string[] } {
  const { author = '', invocationId, timestamp, longRunningToolIds = [] } = event;
  const isUser = author === 'user';
  const path = pathOf(event);
  const opened = isUser
    ? []
    : getFunctionCalls(event).flatMap(({ id, name = '', args = {} }): PendingCall[] =>
        id !== undefined && longRunningToolIds.includes(id)
          ? [
              {
                id,
                name,
                args,
                kind: kindOf(name),
                sessionId,
                invocationId,
                agent: author,
                ...(path !== undefined && { path }),
                created: timestamp,
              },
            ]
          : [],
      );
  // What a tool itself says first is no answer, unless it says that it is its last word.
  const closed = getFunctionResponses(event).flatMap(({ id, willContinue }) =>
    id !== undefined && (willContinue === false || (isUser && !willContinue)) ? [id] : [],
  );
  return { opened, closed };
}

function kindOf(name: string): PendingCall['kind'] {
  const kinds = Object.entries(questionNames) as [keyof typeof questionNames, string][];
  return kinds.find(([, each]) => each === name)?.[0] ?? 'result';
}

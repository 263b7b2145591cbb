import { createEvent } from '@agentmesh/agent';
import type { StoredEvent } from '@agentmesh/agent/internal';
import type { Event } from '@agentmesh/protocol';
import type { History, SessionHistory } from './old-history.ts';

export const ref = { appName: 'app', userId: 'u', sessionId: 's' };
export const invocationId = 'e-1';

/** Makes an answer of the agent, with some fields changed. */
export function said(id: string, more: Partial<Event> = {}): Event {
  return createEvent({
    id,
    invocationId,
    author: 'front',
    content: { role: 'model', parts: [{ text: id }] },
    ...more,
  });
}

export const asked = () =>
  said('question', { author: 'user', content: { role: 'user', parts: [{ text: 'op' }] } });
export const called = (id = 'c1', name = 'count') =>
  said(`call ${id}`, { content: { role: 'model', parts: [{ functionCall: { id, name, args: {} } }] } });
export const answered = (id = 'c1', more: Partial<Event> = {}) =>
  said(`response ${id}`, {
    content: { role: 'user', parts: [{ functionResponse: { id, name: 'count', response: { n: 1 } } }] },
    ...more,
  });
export const ended = (id = 'end', more: Partial<Event> = {}) => said(id, more);

function numbered(events: readonly Event[]): StoredEvent[] {
  return events.map((event, at) => ({ seq: at + 1, event }));
}

export function sessionOf(events: readonly Event[], more: Partial<SessionHistory> = {}): SessionHistory {
  return { ...ref, events: numbered(events), state: {}, initialState: {}, ...more };
}

/** Makes a correct history: one invocation that called a counting tool, got its result, and ended. */
export function goodHistory(): History {
  const events = [asked(), called(), answered(), ended()];
  return historyOf(events);
}

/** Makes the history of one invocation with these events, all of which its client saw. */
export function historyOf(events: readonly Event[], more: Partial<History> = {}): History {
  const seen = events.filter(({ author }) => author !== 'user').map(({ id }) => id);
  return {
    sessions: [sessionOf(events)],
    invocations: [
      {
        ...ref,
        invocationId,
        acknowledged: true,
        status: 'completed',
        client: { seen, finished: true, reconnects: 0 },
      },
    ],
    executions: [{ tool: 'count', callId: 'c1', replica: 'tool-1' }],
    counted: ['c1'],
    countingTools: ['count'],
    onceTools: ['count'],
    killed: [],
    ...more,
  };
}

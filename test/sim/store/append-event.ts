import type { SessionService } from '@agentmesh/agent';
import { incarnationOf, noteIncarnation } from '@agentmesh/agent/internal';
import type { Event } from '@agentmesh/protocol';

/** A request to commit an event. */
export type AppendEventRequest = Parameters<SessionService['appendEvent']>[0];
type Commit = (request: AppendEventRequest) => Promise<Event>;

/**
 * Commits an event over a wire. The caller's session changes when the answer comes, as with Redis, and not when the
 * store commits: a caller that hears nothing has its old session.
 *
 * @param call carries a function out in the store
 */
export async function appendEvent(
  request: AppendEventRequest,
  commit: Commit,
  call: (carryOut: () => Promise<Event>) => Promise<Event>,
): Promise<Event> {
  if (request.event.partial) return request.event;
  const { session, calls, end } = request;
  const uncounted = calls?.uncounted ?? 0;
  if (calls) calls.uncounted -= uncounted;
  const event = structuredClone(request.event);
  let sent: AppendEventRequest | undefined;
  let before = { seq: 0, length: 0 };
  try {
    const stored = await call(() => {
      before = { seq: session.seq, length: session.events.length };
      sent = {
        ...request,
        event,
        session: copyOf(session),
        ...(calls && { calls: { ...calls, uncounted } }),
        ...(end && { end: { ...end } }),
      };
      return commit(sent);
    });
    if (sent) bringUpToDate(request, sent, before);
    return stored;
  } catch (error) {
    if (calls) calls.uncounted += uncounted;
    throw error;
  }
}

function copyOf(session: AppendEventRequest['session']): AppendEventRequest['session'] {
  const copy = { ...session, events: [...session.events], state: structuredClone(session.state) };
  const mark = incarnationOf(session);
  return mark === undefined ? copy : noteIncarnation(copy, mark);
}

/** Adds to the caller's session what it does not have yet: other commits may have been answered meanwhile. */
function bringUpToDate(
  { session, calls, end, event }: AppendEventRequest,
  sent: AppendEventRequest,
  before: { seq: number; length: number },
): void {
  for (const [at, added] of sent.session.events.slice(before.length).entries()) {
    if (before.seq + at + 1 <= session.seq) continue;
    session.events.push(added);
    session.seq += 1;
    session.lastUpdateTime = added.timestamp;
    Object.assign(session.state, structuredClone(added.actions.stateDelta));
  }
  for (const [key, value] of Object.entries(event.actions.stateDelta))
    if (key.startsWith('temp:')) session.state[key] = structuredClone(value);
  if (calls && sent.calls) calls.counted = sent.calls.counted;
  if (end && sent.end) Object.assign(end, sent.end);
}

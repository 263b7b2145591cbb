import type { Session } from '@agentmesh/agent';
import { logIndex, pendingChanges, type RunId, unreadBefore } from '@agentmesh/agent/internal';
import {
  type Event,
  type Headers,
  header,
  type InvocationEnd,
  type PendingNews,
  type SessionRef,
} from '@agentmesh/protocol';
import { addressedCall } from '../mesh/addressed-call.ts';
import type { Mesh } from '../mesh/mesh.ts';

/**
 * Publishes an event to the watchers of the invocation and the listeners of the session: a whole event after its
 * commit, with the changes that it makes to the pending calls; a piece of an event at once, to watchers alone.
 */
export async function publishEvent(
  mesh: Mesh,
  session: Session,
  event: Event,
  carrier: Headers,
): Promise<void> {
  const ref = refOf(session);
  const { subjects, bus } = mesh;
  const subjectOf = event.partial ? subjects.sessionNews : subjects.sessionEvent;
  const subject = subjectOf(ref, event.invocationId, bus.service);
  await publishNews(mesh, subject, event, eventHeaders(session, event, carrier));
  if (event.partial) return;
  const { opened, closed } = pendingChanges(event, session.id);
  const news: PendingNews[] = [
    ...opened.map((call) => ({
      change: 'opened' as const,
      callId: call.id,
      call: addressedCall(mesh, { app: session.appName, user: session.userId }, call),
    })),
    ...closed.map(({ id }) => ({ change: 'answered' as const, callId: id })),
  ];
  for (const each of news) await publishNews(mesh, subjects.sessionPending(ref, bus.service), each, carrier);
}

function eventHeaders(session: Session, event: Event, carrier: Headers): Headers {
  return {
    ...carrier,
    [header.frame]: 'event',
    ...(!event.partial && { [header.seq]: String(numberOf(session, event)) }),
  };
}

/**
 * Returns the number of a committed event in its session. It may be below the session's own: an event that
 * another attempt has committed, or an update that was committed meanwhile.
 */
function numberOf(session: Session, { id }: Event): number {
  const at = logIndex(session.events).positionOf(id);
  // The event is older than all that are read.
  return unreadBefore(session) + (at ?? -1) + 1;
}

/** Returns the headers of the event with which the run has ended: its watchers need no further message. */
export function endingHeaders(carrier: Headers): Headers {
  const status: InvocationEnd['status'] = 'completed';
  return { ...carrier, [header.end]: status };
}

/** Publishes the end of a run to its watchers. */
export async function publishEnd(
  mesh: Mesh,
  { invocationId, resume, ...ref }: RunId & SessionRef,
  end: InvocationEnd,
  carrier: Headers,
): Promise<void> {
  const headers = { ...carrier, [header.frame]: 'result' };
  const news = { ...end, ...(resume !== undefined && { resume }) };
  await publishNews(mesh, mesh.subjects.sessionNews(ref, invocationId, mesh.bus.service), news, headers);
}

/**
 * Publishes news. A failure is only logged: the log of the session has all that matters, and watchers read
 * there what they missed.
 */
async function publishNews(
  { bus, log }: Mesh,
  subject: string,
  payload: unknown,
  headers: Headers,
): Promise<void> {
  if (!bus.status().connected) return;
  try {
    await bus.publish(subject, payload, { headers });
  } catch (error) {
    log.warn({ subject, err: error }, 'could not publish to the watchers');
  }
}

export function refOf({ appName, userId, id }: Pick<Session, 'appName' | 'userId' | 'id'>): SessionRef {
  return { appName, userId, sessionId: id };
}

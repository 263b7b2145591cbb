import type { Session } from '@agentmesh/agent';
import { pendingChanges, type RunId } from '@agentmesh/agent/internal';
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

/** Tells whoever watches the invocation of an event: after it was committed, or as it is when it is a piece of one. */
export async function publishEvent(
  mesh: Mesh,
  session: Session,
  event: Event,
  carrier: Headers,
): Promise<void> {
  await tell(
    mesh,
    mesh.subjects.invocationEvent(event.invocationId),
    event,
    eventHeaders(session, event, carrier),
  );
  await publishToSession(mesh, session, event, carrier);
}

/** Tells whoever listens to the session of a committed event, and of what it changes in what waits for an answer. */
export async function publishToSession(
  mesh: Mesh,
  session: Session,
  event: Event,
  carrier: Headers,
): Promise<void> {
  if (event.partial) return;
  const ref = refOf(session);
  await tell(mesh, mesh.subjects.sessionEvent(ref), event, eventHeaders(session, event, carrier));
  const { opened, closed } = pendingChanges(event, session.id);
  const news: PendingNews[] = [
    ...opened.map((call) => ({
      change: 'opened' as const,
      callId: call.id,
      call: addressedCall(mesh, { app: session.appName, user: session.userId }, call),
    })),
    ...closed.map(({ id }) => ({ change: 'answered' as const, callId: id })),
  ];
  for (const each of news) await tell(mesh, mesh.subjects.sessionPending(ref), each, carrier);
}

function eventHeaders(session: Session, event: Event, carrier: Headers): Headers {
  return {
    ...carrier,
    [header.frame]: 'event',
    ...(!event.partial && { [header.seq]: String(session.seq) }),
  };
}

/** Tells whoever watches that a run of an invocation is over. */
export async function publishEnd(
  mesh: Mesh,
  { invocationId, resume }: RunId,
  end: InvocationEnd,
  carrier: Headers,
): Promise<void> {
  const headers = { ...carrier, [header.frame]: 'result' };
  const told = { ...end, ...(resume !== undefined && { resume }) };
  await tell(mesh, mesh.subjects.invocationEvent(invocationId), told, headers);
}

/** News are for those who listen: what matters is in the log already, and a watcher that missed something reads it there. */
async function tell({ bus, log }: Mesh, subject: string, payload: unknown, headers: Headers): Promise<void> {
  if (!bus.status().connected) return;
  try {
    await bus.publish(subject, payload, { headers });
  } catch (error) {
    log.warn({ subject, err: error }, 'could not tell the watchers');
  }
}

export function refOf({ appName, userId, id }: Pick<Session, 'appName' | 'userId' | 'id'>): SessionRef {
  return { appName, userId, sessionId: id };
}

import type { SessionRef } from '@agentmesh/protocol';
import { nameOf } from '../../chaos/check/history.ts';
import { type Clients, newVisitor } from './clients.ts';
import { say } from './say.ts';

/** Sends a message to each session and waits for its end: no run that was lost may keep a session busy. */
export async function probe(clients: Clients): Promise<void> {
  const sessions = new Map<string, SessionRef>();
  for (const { session } of clients.traffic.messages) sessions.set(nameOf(session), session);
  await Promise.all([...sessions.values()].map((session, at) => probeOne(clients, session, at)));
}

async function probeOne(clients: Clients, session: SessionRef, at: number): Promise<void> {
  const visitor = newVisitor(clients, session.userId);
  visitor.place.session = Promise.resolve(session);
  const how = { via: 'http', whenBusy: 'enqueue', reads: 'steady', atMs: 0 } as const;
  await say(visitor, { do: 'say', id: `probe-${at}`, kind: 'stream', ...how });
}

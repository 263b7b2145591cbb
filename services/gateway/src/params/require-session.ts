import type { GetSessionConfig, Session } from '@agentmesh/agent';
import { noSession, type SessionView } from '@agentmesh/agent/internal';
import type { SessionRef } from '@agentmesh/protocol';
import type { GatewayContext } from '../context/context.ts';

/** Returns what is known of a session without reading it. @throws MeshError `not_found` */
export async function requireLog({ mesh }: GatewayContext, ref: SessionRef): Promise<SessionView> {
  const view = await mesh.sessions.leases.look(ref);
  if (view) return view;
  throw noSession(ref);
}

/** Returns the session with this id. @throws MeshError `not_found` */
export async function requireSession(
  { mesh }: GatewayContext,
  ref: SessionRef,
  config: GetSessionConfig = {},
): Promise<Session> {
  const session = await mesh.sessions.getSession({ ...ref, config });
  if (session) return session;
  throw noSession(ref);
}

import type { GetSessionConfig, Session } from '@agentmesh/agent';
import { noSession } from '@agentmesh/agent/internal';
import type { SessionRef } from '@agentmesh/protocol';
import type { GatewayContext } from '../context/context.ts';

/** Returns the number of the last event of a session, without reading the session. @throws MeshError `not_found` */
export async function requireLog({ mesh }: GatewayContext, ref: SessionRef): Promise<{ seq: number }> {
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

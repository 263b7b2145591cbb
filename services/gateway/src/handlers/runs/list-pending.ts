import { pendingCalls } from '@agentmesh/mesh';
import type { Handler } from '../../context/route.ts';
import { readSession, readUser } from '../../params/params.ts';
import { requireLog } from '../../params/require-session.ts';

/** Lists the pending calls of a session: confirmations, credentials, results of long-running calls. */
export const listPendingOfSession: Handler = async (context, request) => {
  const ref = await readSession(context, request);
  await requireLog(context, ref);
  const { appName: app, userId: user, sessionId: session } = ref;
  return { pending: await pendingCalls(context.mesh, { app, user, session }) };
};

/** Lists the pending calls of all sessions of a user, including sessions of agents that are used as tools. */
export const listPendingOfUser: Handler = async (context, request) => {
  const { appName, userId } = await readUser(context, request);
  return { pending: await pendingCalls(context.mesh, { app: appName, user: userId }) };
};

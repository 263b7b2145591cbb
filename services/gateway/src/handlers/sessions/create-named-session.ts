import type { Handler } from '../../context/route.ts';
import { readSession } from '../../params/params.ts';
import { makeSession, readNewNamedSession } from './new-session.ts';
import { sessionJson } from './session-json.ts';

/** Creates a session with the id of the path. */
export const createNamedSession: Handler = async (context, request) => {
  const { sessionId, ...user } = await readSession(context, request);
  const newSession = { ...readNewNamedSession(request.body), sessionId };
  return sessionJson(await makeSession(context, request, user, newSession));
};

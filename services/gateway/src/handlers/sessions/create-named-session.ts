import type { Handler } from '../../context/route.ts';
import { readSession } from '../../params/params.ts';
import { makeSession, readNewNamedSession } from './new-session.ts';
import { sessionJson } from './session-json.ts';

/** The same under the id of the path. */
export const createNamedSession: Handler = async (context, request) => {
  const { sessionId, ...user } = await readSession(context, request);
  const wanted = { ...readNewNamedSession(request.body), sessionId };
  return sessionJson(await makeSession(context, user, wanted));
};

import type { Handler } from '../../context/route.ts';
import { readUser } from '../../params/params.ts';
import { makeSession, readNewSession } from './new-session.ts';
import { sessionJson } from './session-json.ts';

/** Creates a session, with imported events if the body has any. */
export const createSession: Handler = async (context, request) => {
  const user = await readUser(context, request);
  return sessionJson(await makeSession(context, request, user, readNewSession(request.body)));
};

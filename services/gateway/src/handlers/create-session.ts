import { makeSession, readNewSession } from '../new-session.ts';
import { readUser } from '../params.ts';
import { sessionJson } from '../session-json.ts';
import type { Handler } from './index.ts';

/** A session, with events from elsewhere if there are any. */
export const createSession: Handler = async (context, request) => {
  const user = await readUser(context, request);
  return sessionJson(await makeSession(context, user, readNewSession(request.body)));
};

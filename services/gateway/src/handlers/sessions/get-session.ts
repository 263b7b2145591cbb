import type { Handler } from '../../context/route.ts';
import { readQuery, readSession, wholeNumber } from '../../params/params.ts';
import { requireSession } from '../../params/require-session.ts';
import { sessionJson } from './session-json.ts';

const number = wholeNumber.optional();
export const getSessionQuery = { numRecentEvents: number, afterTimestamp: number, afterSeq: number };

/** Answers with a session and its events, or with the events that the query selects. */
export const getSession: Handler = async (context, request) => {
  const { numRecentEvents, afterTimestamp, afterSeq } = readQuery(getSessionQuery, request);
  const config = {
    ...(numRecentEvents !== undefined && { numRecentEvents }),
    ...(afterTimestamp !== undefined && { afterTimestamp }),
    ...(afterSeq !== undefined && { afterSeq }),
  };
  return sessionJson(await requireSession(context, await readSession(context, request), config));
};

import type { Handler } from '../../context/route.ts';
import { readQuery, readSession, wholeNumber } from '../../params/params.ts';
import { sendSession } from './session-json.ts';

const number = wholeNumber.optional();
export const getSessionQuery = { numRecentEvents: number, afterTimestamp: number, afterSeq: number };

/** Answers with a session and its events, or with the events that the query selects. */
export const getSession: Handler = async (context, request, reply) => {
  const { numRecentEvents, afterTimestamp, afterSeq } = readQuery(getSessionQuery, request);
  return await sendSession(context, request, reply, await readSession(context, request), {
    ...(numRecentEvents !== undefined && { numRecentEvents }),
    ...(afterTimestamp !== undefined && { afterTimestamp }),
    ...(afterSeq !== undefined && { afterSeq }),
  });
};

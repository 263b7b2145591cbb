import { parse } from '@agentmesh/protocol';
import { z } from 'zod';
import { knownSession } from '../known-session.ts';
import { readSession } from '../params.ts';
import { sessionJson } from '../session-json.ts';
import type { Handler } from './index.ts';

const number = z.coerce.number().int().min(0).optional();
const query = z.object({ numRecentEvents: number, afterTimestamp: number, afterSeq: number });

/** A session with its events, or with those that the query wants. */
export const getSession: Handler = async (context, request) => {
  const { numRecentEvents, afterTimestamp, afterSeq } = parse(query, request.query, 'the query');
  const config = {
    ...(numRecentEvents !== undefined && { numRecentEvents }),
    ...(afterTimestamp !== undefined && { afterTimestamp }),
    ...(afterSeq !== undefined && { afterSeq }),
  };
  return sessionJson(await knownSession(context, await readSession(context, request), config));
};

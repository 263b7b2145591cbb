import { importSession } from '@agentmesh/agent';
import { eventSchema } from '@agentmesh/protocol';
import { z } from 'zod';
import { readBody, readUser } from '../params.ts';
import { sessionJson } from '../session-json.ts';
import type { Handler } from './index.ts';

const body = z.object({
  sessionId: z.string().min(1).optional(),
  state: z.record(z.string(), z.unknown()).nullish(),
  events: z.array(eventSchema).max(100_000).nullish(),
});

/** No event is from before 1973 in milliseconds: ADK for Python tells the time in seconds. */
const leastMs = 100_000_000_000;

/** A session, with events from elsewhere if there are any. */
export const createSession: Handler = async (context, request) => {
  const user = await readUser(context, request);
  const { sessionId, state, events } = readBody(body, request);
  const wanted = { ...user, ...(sessionId !== undefined && { sessionId }), ...(state && { state }) };
  const { sessions } = context.mesh;
  if (!events?.length) return sessionJson(await sessions.createSession(wanted));
  const inMs = events.map((event) =>
    event.timestamp < leastMs ? { ...event, timestamp: event.timestamp * 1_000 } : event,
  );
  return sessionJson(await importSession(sessions, { ...wanted, events: inMs }));
};

import { z } from 'zod';
import { readBody, readUser } from '../params.ts';
import { sessionJson } from '../session-json.ts';
import type { Handler } from './index.ts';

const body = z.object({
  sessionId: z.string().min(1).optional(),
  state: z.record(z.string(), z.unknown()).nullish(),
  // ADK's Python server takes events here; ours must not seem to.
  events: z.array(z.unknown()).max(0, 'a session cannot be created with events yet').nullish(),
});

export const createSession: Handler = async (context, request) => {
  const user = await readUser(context, request);
  const { sessionId, state } = readBody(body, request);
  const session = await context.mesh.sessions.createSession({
    ...user,
    ...(sessionId !== undefined && { sessionId }),
    ...(state && { state }),
  });
  return sessionJson(session);
};

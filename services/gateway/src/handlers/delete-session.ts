import { readSession } from '../params.ts';
import { sendNull } from '../send-null.ts';
import type { Handler } from './index.ts';

export const deleteSession: Handler = async (context, request, reply) => {
  await context.mesh.sessions.deleteSession(await readSession(context, request));
  return sendNull(reply);
};

import { readSession } from '../params.ts';
import type { Handler } from './index.ts';

export const deleteSession: Handler = async (context, request, reply) => {
  await context.mesh.sessions.deleteSession(await readSession(context, request));
  return reply.status(204).send();
};

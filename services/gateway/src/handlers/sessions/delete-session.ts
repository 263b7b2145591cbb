import { sendNull } from '../../http/send-null.ts';
import { readSession } from '../../params/params.ts';
import type { Handler } from '../index.ts';

export const deleteSession: Handler = async (context, request, reply) => {
  await context.mesh.sessions.deleteSession(await readSession(context, request));
  return sendNull(reply);
};

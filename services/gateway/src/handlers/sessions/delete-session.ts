import type { Handler } from '../../context/route.ts';
import { sendNull } from '../../http/send-null.ts';
import { readSession } from '../../params/params.ts';

export const deleteSession: Handler = async (context, request, reply) => {
  await context.mesh.sessions.deleteSession(await readSession(context, request));
  return sendNull(reply);
};

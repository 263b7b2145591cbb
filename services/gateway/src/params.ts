import { rootOf } from '@agentmesh/mesh';
import { camelizeKeys, parse } from '@agentmesh/protocol';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { GatewayContext } from './context.ts';

const userParams = z.object({ app: z.string().min(1), user: z.string().min(1) });
const sessionParams = userParams.extend({ session: z.string().min(1) });

/** The user of a path, in an app that there is. @throws MeshError `not_found` */
export async function readUser(
  { mesh }: GatewayContext,
  request: FastifyRequest,
): Promise<{ appName: string; userId: string }> {
  const { app, user } = parse(userParams, request.params, 'the path');
  await rootOf(mesh, app);
  return { appName: app, userId: user };
}

/** The session of a path, in an app that there is. @throws MeshError `not_found` */
export async function readSession(context: GatewayContext, request: FastifyRequest) {
  const { session } = parse(sessionParams, request.params, 'the path');
  return { ...(await readUser(context, request)), sessionId: session };
}

/** A body in either spelling of its keys; an absent one is empty. */
export function readBody<T>(schema: z.ZodType<T>, request: FastifyRequest): T {
  return parse(schema, camelizeKeys(request.body ?? {}), 'the body');
}

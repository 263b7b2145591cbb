import { rootOf } from '@agentmesh/mesh';
import { type AgentCard, parse } from '@agentmesh/protocol';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { GatewayContext } from '../../context/context.ts';

const params = z.object({ app: z.string().min(1) });

/** Reads the app of a path, with the card of its root agent. @throws MeshError `not_found` */
export async function readApp(
  { mesh }: GatewayContext,
  request: FastifyRequest,
): Promise<{ app: string; root: AgentCard }> {
  const { app } = parse(params, request.params, 'the path');
  return { app, root: await rootOf(mesh, app) };
}

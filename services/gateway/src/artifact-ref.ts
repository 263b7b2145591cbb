import type { ArtifactRef } from '@agentmesh/agent';
import { MeshError, parse } from '@agentmesh/protocol';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { GatewayContext } from './context.ts';
import { knownSession } from './known-session.ts';
import { readSession } from './params.ts';

const number = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a whole number from 0, or latest')
  .transform(Number);
const version = z.union([z.literal('latest').transform(() => undefined), number]).optional();
const params = z.object({ artifact: z.string().min(1), version });
const query = z.object({ version });

/** The file of a path, in the version that the path or the query names; by default the latest. */
export async function readArtifactRef(
  context: GatewayContext,
  request: FastifyRequest,
): Promise<ArtifactRef & { version?: number | undefined }> {
  const path = parse(params, request.params, 'the path');
  const asked = parse(query, request.query, 'the query');
  const session = await readSession(context, request);
  return { ...session, filename: path.artifact, version: path.version ?? asked.version };
}

/** A file that is to be saved: of a session that there is, unless it is the user's. @throws MeshError `not_found` */
export async function readOwner(context: GatewayContext, ref: ArtifactRef): Promise<ArtifactRef> {
  if (!ref.filename.startsWith('user:')) await knownSession(context, ref, { numRecentEvents: 0 });
  return ref;
}

/** @throws MeshError `not_found` */
export function found<T>(
  artifact: T | undefined,
  { filename, version: wanted }: { filename: string; version?: number | undefined },
): T {
  if (artifact !== undefined) return artifact;
  const which = wanted === undefined ? '' : ` in version ${wanted}`;
  throw new MeshError('not_found', `there is no artifact ${filename}${which}`);
}

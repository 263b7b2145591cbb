import type { ArtifactRef } from '@agentmesh/agent';
import { camelizeKeys, MeshError, parse } from '@agentmesh/protocol';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { GatewayContext } from '../context/context.ts';
import { readSession } from './params.ts';

const isVersion = 'must be a whole number from 0, or latest';
const number = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform(Number);
const version = z.union([z.literal('latest').transform(() => undefined), number], isVersion).optional();
const params = z.object({ artifact: z.string().min(1), version });
export const versionQuery = z.strictObject({ version });
const noQuery = z.strictObject({});

/** Reads the file of a path, in the version of the path or the query; by default the latest. */
export async function readVersionRef(
  context: GatewayContext,
  request: FastifyRequest,
): Promise<ArtifactRef & { version?: number | undefined }> {
  const path = parse(params, request.params, 'the path');
  const isNamed = (request.params as { version?: string }).version !== undefined;
  const query = isNamed ? assertNoQuery(request) : readQuery(versionQuery, request);
  const session = await readSession(context, request);
  return { ...session, filename: path.artifact, version: path.version ?? query.version };
}

/** Reads the file of a path, for all its versions. */
export async function readArtifactRef(
  context: GatewayContext,
  request: FastifyRequest,
): Promise<ArtifactRef> {
  assertNoQuery(request);
  const { artifact: filename } = parse(params, request.params, 'the path');
  return { ...(await readSession(context, request)), filename };
}

/**
 * Refuses a query where none is read, so that no parameter is ignored silently. @throws MeshError
 * `invalid_argument`
 */
export function assertNoQuery(request: FastifyRequest): { version?: undefined } {
  return readQuery(noQuery, request);
}

/** Reads a query in either spelling of its keys. */
function readQuery<T>(schema: z.ZodType<T>, request: FastifyRequest): T {
  return parse(schema, camelizeKeys(request.query ?? {}, 'the query'), 'the query');
}

/** Returns the artifact if there is one. @throws MeshError `not_found` */
export function found<T>(
  artifact: T | undefined,
  { filename, version: wanted }: { filename: string; version?: number | undefined },
): T {
  if (artifact !== undefined) return artifact;
  const which = wanted === undefined ? '' : ` in version ${wanted}`;
  throw new MeshError('not_found', `there is no artifact ${filename}${which}`);
}

import { rootOf } from '@agentmesh/mesh';
import {
  assertNoTypos,
  camelizeKeys,
  isToken,
  maxTokenLength,
  parse,
  withoutNulls,
} from '@agentmesh/protocol';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { GatewayContext } from '../context/context.ts';
import { noteInvocation } from '../http/request-ids.ts';

const name = z
  .string()
  .min(1)
  .refine(
    isToken,
    `must be well-formed and at most ${maxTokenLength} characters, fewer if they are not letters or digits`,
  );
const userParams = z.object({ app: name, user: name });
const sessionParams = userParams.extend({ session: z.string().min(1) });
const invocationParams = z.object({ invocation: z.string().min(1) });

/** A number of a query, from 0. */
export const wholeNumber = z
  .string('must be given once')
  .regex(/^\d{1,15}$/, 'must be a whole number, of at most 15 digits')
  .transform(Number);

const pageAllowed = 'must be 1 to 1000';
/** The size of a page of a list. */
export const pageSize = wholeNumber.pipe(z.number().min(1, pageAllowed).max(1_000, pageAllowed));

/** The number of an event in its session, as a client sends it. */
export const position = z
  .string('must be given once')
  .regex(/^\d{1,15}$/, 'must be a whole number: the id of the last event that came')
  .transform(Number);

/** Reads the user of a path, in an app that exists. @throws MeshError `not_found` */
export async function readUser(
  { mesh }: GatewayContext,
  request: FastifyRequest,
): Promise<{ appName: string; userId: string }> {
  const { app, user } = parse(userParams, request.params, 'the path');
  await rootOf(mesh, app);
  return { appName: app, userId: user };
}

/** Reads the user of a path, in any app: data of users outlives the agents of an app. */
export function readAnyUser(request: FastifyRequest): { appName: string; userId: string } {
  const { app, user } = parse(userParams, request.params, 'the path');
  return { appName: app, userId: user };
}

/** Reads the session of a path, in an app that exists. @throws MeshError `not_found` */
export async function readSession(context: GatewayContext, request: FastifyRequest) {
  const { session } = parse(sessionParams, request.params, 'the path');
  return { ...(await readUser(context, request)), sessionId: session };
}

/** Reads the invocation of a path, in an app that exists. @throws MeshError `not_found` */
export async function readInvocationRef(context: GatewayContext, request: FastifyRequest) {
  const { invocation: invocationId } = parse(invocationParams, request.params, 'the path');
  noteInvocation(request, invocationId);
  return { ...(await readSession(context, request)), invocationId };
}

/** The schemas of queries by their shapes: the making of a schema takes longer than the reading of a query. */
const querySchemas = new WeakMap<z.core.$ZodLooseShape, unknown>();

function querySchema<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const schema = (querySchemas.get(shape) ?? z.strictObject(shape)) as ReturnType<
    typeof z.strictObject<Shape>
  >;
  querySchemas.set(shape, schema);
  return schema;
}

/**
 * Reads a query in either spelling of its keys. @throws MeshError `invalid_argument`, also for unknown keys:
 * a misspelled key must not be ignored
 */
export function readQuery<Shape extends z.core.$ZodLooseShape>(shape: Shape, request: FastifyRequest) {
  return parse(querySchema(shape), camelizeKeys(request.query, 'the query'), 'the query');
}

/**
 * Reads a body in either spelling of its keys; an absent body counts as empty. @throws MeshError
 * `invalid_argument`, also for misspelled fields
 */
export function readBody<Shape extends z.core.$ZodShape, Config extends z.core.$ZodObjectConfig>(
  schema: z.ZodObject<Shape, Config>,
  request: FastifyRequest,
): z.output<z.ZodObject<Shape, Config>> {
  // Clients of Python write absent fields as null.
  const data = withoutNulls(camelizeKeys(request.body ?? {}, 'the body'));
  assertNoTypos(schema, data, 'the body');
  return parse(schema, data, 'the body');
}

import type { Message } from '@agentmesh/bus';
import { assertKnownFields, header, parse } from '@agentmesh/protocol';
import type { z } from 'zod';

/**
 * Reads a message by its schema. Unknown fields are refused from programs that are no process of the mesh
 * (their messages have no `Mesh-Replica`). A process of the mesh may send unknown fields, because it may be
 * of a newer version.
 *
 * @throws MeshError `invalid_argument` that names what is wrong
 */
export function readPayload<S extends z.core.$ZodShape, C extends z.core.$ZodObjectConfig>(
  schema: z.ZodObject<S, C>,
  message: Pick<Message, 'headers' | 'json'>,
  what: string,
): z.output<z.ZodObject<S, C>> {
  const data = message.json();
  if (message.headers[header.replica] === undefined) assertKnownFields(schema, data, what);
  return parse(schema, data, what);
}

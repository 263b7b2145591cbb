import type { Message } from '@agentmesh/bus';
import { assertKnownFields, header, parse } from '@agentmesh/protocol';
import type { z } from 'zod';

/**
 * Reads a message by its schema. Of a program that is no process of the mesh (its messages bear no `Mesh-Replica`) a field that nobody knows is
 * refused; a process of the mesh may be of a newer version, and say more than this one understands (decision 25).
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

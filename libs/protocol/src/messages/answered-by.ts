import { z } from 'zod';

/** The roles of a person. */
export const rolesSchema = z.array(z.string().min(1).max(256)).max(256);

/** The source of an answer to an agent's question. */
export const answeredBySchema = z.object({
  /** The person, as the service says. */
  by: z.string().min(1).max(256),
  /** The entrance that the answer used, such as `rest`. */
  via: z.string().min(1).max(64),
  /** The service that gave the answer to the mesh: the gateway, `client` or a tool. */
  service: z.string().min(1).max(256).optional(),
  /** The roles of the person, as the service says. */
  roles: rolesSchema.optional(),
});
export type AnsweredBy = z.infer<typeof answeredBySchema>;

import { z } from 'zod';

/** The roles of a person. */
export const rolesSchema = z.array(z.string().min(1).max(256)).max(256);

/**
 * The source of an answer to an agent's question. An event has the source that a gateway or an agent vouches for:
 * see `readSource`.
 */
export const answeredBySchema = z.object({
  /** The person, as the service says. */
  by: z.string().min(1).max(256),
  /** The entrance that the answer used, such as `rest`. */
  via: z.string().min(1).max(64),
  /**
   * The service that gave the answer to the mesh: the gateway, `client` or a tool. Absent when no answer came, and
   * for the message of a run for which nobody vouches.
   */
  service: z.string().min(1).max(256).optional(),
  /** The roles of the person, as the service says. */
  roles: rolesSchema.optional(),
});
export type AnsweredBy = z.infer<typeof answeredBySchema>;

/** The kinds of acts that audit records tell of. A `request` is any other request at the gateway. */
export const auditActionSchema = z.enum(['answer', 'run', 'delete', 'export', 'import', 'key', 'request']);
export type AuditAction = z.infer<typeof auditActionSchema>;

/** A security decision of a service, as the stream of audit records keeps it. */
export const auditRecordSchema = z.object({
  decision: z.enum(['accepted', 'refused']),
  action: auditActionSchema.default('answer'),
  /** The caller of the gateway. */
  caller: z.object({ via: z.string(), user: z.string().optional(), key: z.string().optional() }).optional(),
  /** The address of the caller. */
  address: z.string().optional(),
  /** The request at the gateway, without its query: `DELETE /apps/shop/users/ann`. */
  request: z.string().optional(),
  /** The HTTP status of the answer. */
  status: z.number().optional(),
  /** The invocation that a run began or continued. */
  invocationId: z.string().optional(),
  /** The act on an API key, such as `revoke laptop`. */
  key: z.string().optional(),
  /** The calls or questions that the message answers. */
  callIds: z.array(z.string()),
  /** The session, as far as it is known. */
  session: z.object({ appName: z.string(), userId: z.string(), sessionId: z.string() }).optional(),
  answeredBy: answeredBySchema.optional(),
  /** The reason of a refusal. */
  reason: z.string().optional(),
  service: z.string(),
  replica: z.string(),
  /** The time of the decision, in epoch ms. */
  time: z.number(),
});
export type StoredAuditRecord = z.infer<typeof auditRecordSchema>;

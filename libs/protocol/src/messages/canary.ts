import { z } from 'zod';
import { agentNameSchema, versionSchema } from '../names/names.ts';

/**
 * The record of a canary: the share of an agent's sessions whose runs go to one version. The operator writes it
 * under the agent's name; every process reads it with the cards.
 */
export const canarySchema = z.object({
  agent: agentNameSchema,
  version: versionSchema,
  /** The share in percent, from 0 to 100. */
  percent: z.number().min(0).max(100),
  /** The time at which the canary began, epoch ms; 0 for one of an earlier release. */
  since: z.number().int().min(0).default(0),
  /** True if an answer to a question goes to the version that asked, whatever the share says. */
  pinned: z.boolean().default(false),
  /** True while the canary ends: replicas of all versions empty its queue, and nothing new goes there. */
  ending: z.boolean().default(false),
});
export type Canary = z.infer<typeof canarySchema>;
/** The record before its defaults are filled in. */
export type CanaryInput = z.input<typeof canarySchema>;

import { z } from 'zod';

/** The app and the user to whom a secret belongs, and the session of the run for which it is used. */
const owner = { app: z.string(), user: z.string(), session: z.string() };
/** The question of a sign-in: the session in which it was asked, which may be a child session, and its id. */
const question = { at: z.string(), question: z.string() };
const key = z.string().min(1);

/** The use of a secret, by which a keeper decides who may seal and open it; see {@link SecretUse}. */
export const secretUseSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('credential'), ...owner, key }),
  z.strictObject({ kind: z.literal('sign-in'), ...owner, ...question }),
  z.strictObject({ kind: z.literal('sign-in-answer'), ...owner, ...question, key }),
  z.strictObject({ kind: z.literal('answer'), ...owner, question: z.string() }),
]);

/**
 * The use of a secret:
 *
 * - `credential`: a saved credential under a credential key;
 * - `sign-in`: a requested sign-in, which only the service opens that sealed it;
 * - `sign-in-answer`: the answer to a sign-in, for the service that uses the credential key;
 * - `answer`: the answer to a question on its way to the agent that asked.
 */
export type SecretUse = z.infer<typeof secretUseSchema>;

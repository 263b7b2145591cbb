import { z } from 'zod';
import { shortId } from '../names/short-id.ts';
import { publicKeySchema } from '../secrets/sealed-message.ts';
import { secretUseSchema } from '../secrets/secret-use.ts';

/** The longest secret in a request, in characters; below the limit of a message. */
const sealed = z.string().max(400_000);

/**
 * A request for secrets to a keeper. The subject of the request names the service that asks, and the right that
 * it uses ({@link rightFor}).
 */
export const secretRequestSchema = z.discriminatedUnion('do', [
  /** Opens a secret for the key `to`, which the asking process has made for this answer. */
  z.strictObject({ do: z.literal('open'), use: secretUseSchema, sealed, to: publicKeySchema }),
  /** Seals a secret, which the asking process has encrypted for the keepers. */
  z.strictObject({ do: z.literal('seal'), use: secretUseSchema, message: sealed }),
  /** Asks for the public key of the keepers. */
  z.strictObject({ do: z.literal('key') }),
]);
export type SecretRequest = z.infer<typeof secretRequestSchema>;

/** The answers to the requests, by their verbs. */
export const secretAnswers = {
  open: z.object({ message: z.string() }),
  seal: z.object({ sealed: z.string() }),
  key: z.object({ key: publicKeySchema }),
} as const satisfies Record<SecretRequest['do'], z.ZodType>;

export type SecretAnswer<V extends SecretRequest['do']> = z.infer<(typeof secretAnswers)[V]>;

/** Any answer of a keeper to a request for secrets. */
export const secretAnswerSchema = z.union(Object.values(secretAnswers));

/** The right of all services that sign users in: their own sign-ins. */
export const signInRight = 'sign-in';
/** The right of the services through which answers come: gateways and agents. */
export const answerRight = 'answer';

/** Returns the right to a credential key. */
export function credentialRight(key: string): string {
  return `key:${shortId(key)}`;
}

/** Returns the right that a request needs, which is the last token of its subject. */
export function rightFor({ do: verb, use }: Extract<SecretRequest, { use: unknown }>): string {
  if (use.kind === 'credential') return credentialRight(use.key);
  if (use.kind === 'sign-in') return signInRight;
  return use.kind === 'sign-in-answer' && verb === 'open' ? credentialRight(use.key) : answerRight;
}

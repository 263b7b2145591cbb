import { z } from 'zod';

/** Length of the pieces in which a service sends a file to a keeper, in bytes; below the limit of a message. */
export const pieceBytes = 128 * 1024;

const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const record = z.record(z.string(), z.unknown());
/** The metadata of a version: its type, the metadata of its user, and the part of ADK without the bytes. */
const about = z.object({ mimeType: z.string(), customMetadata: record, part: record });
/** The session of the work, in which the file lies unless its name begins with `user:`. */
const place = { app: z.string(), user: z.string(), session: z.string() };
const file = { ...place, filename: z.string() };
/** The choice of the asking service for one upload: the pieces of one upload become one version. */
const upload = z.string().min(16).max(64);
const base64 = z.string().max(Math.ceil(pieceBytes / 3) * 4);

/** The pieces of an upload. */
const piecesSchema = z.object({ count, first: count, size: count, digest: z.string().regex(/^[\w-]{43}$/) });

/** A request for files to a keeper. The subject of the request names the service that asks. */
export const keeperRequestSchema = z.discriminatedUnion('do', [
  z.strictObject({ do: z.literal('names'), ...place }),
  z.strictObject({ do: z.literal('versions'), ...file }),
  z.strictObject({ do: z.literal('delete'), ...file }),
  z.strictObject({ do: z.literal('find'), ...file, version: count.optional() }),
  z.strictObject({ do: z.literal('read'), ...file, version: count, from: count }),
  z.strictObject({ do: z.literal('write'), ...file, upload, index: count, bytes: base64 }),
  z.strictObject({
    ...{ do: z.literal('save'), ...file, upload },
    ...{ pieces: piecesSchema, about },
  }),
]);
export type KeeperRequest = z.infer<typeof keeperRequestSchema>;

const versionSchema = z.object({
  version: z.number(),
  canonicalUri: z.string(),
  size: z.number(),
  createTime: z.number(),
  about,
});

/** A version without its bytes, and the digest of the bytes. */
export const foundFileSchema = versionSchema.extend({ digest: z.string().optional() });
export type FoundFile = z.infer<typeof foundFileSchema>;

/** The answers to the requests, by their verbs. */
export const keeperAnswers = {
  names: z.object({ names: z.array(z.string()) }),
  versions: z.object({ versions: z.array(versionSchema) }),
  delete: z.object({}),
  find: z.object({ found: foundFileSchema.optional() }),
  read: z.object({ bytes: z.string(), next: count }),
  write: z.object({ place: count }),
  save: z.object({ version: count }),
} as const satisfies Record<KeeperRequest['do'], z.ZodType>;

export type KeeperAnswer<V extends KeeperRequest['do']> = z.infer<(typeof keeperAnswers)[V]>;

/** Any answer of a keeper. */
export const keeperAnswerSchema = z.union(Object.values(keeperAnswers));

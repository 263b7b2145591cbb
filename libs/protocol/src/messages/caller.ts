import { z } from 'zod';
import { MeshError } from '../errors/mesh-error.ts';
import { rolesSchema } from './answered-by.ts';
import { readSigned, type Signer } from './signer.ts';

/** The authenticated sender of the request that began a run. */
export const callerSchema = z.object({
  /** The way by which the gateway knows the caller: `keys`, `oidc`, `proxy`. */
  via: z.string().min(1).max(64),
  /** The user of the key or the token; absent for a key of a service. */
  user: z.string().min(1).optional(),
  /** The roles in the app of the run. */
  roles: rolesSchema,
  /** The name of the API key. */
  key: z.string().min(1).max(256).optional(),
});
export type Caller = z.infer<typeof callerSchema>;

/** The work for which a caller is vouched: nobody can show the identity for other work. */
export interface CallersWork {
  appName: string;
  userId: string;
  invocationId: string;
}

/** Distinguishes identities from all other tokens. */
const typ = 'agentmesh-caller+jwt';

/**
 * Signs the identity of a caller for a piece of work.
 *
 * @throws MeshError `invalid_argument` for more roles than a header can hold
 */
export async function signCaller(
  signer: Signer,
  { appName, userId, invocationId }: CallersWork,
  caller: Caller,
): Promise<string> {
  return await signer.sign(typ, { app: appName, user: userId, invocation: invocationId, caller });
}

/**
 * Reads a signed identity for a piece of work.
 *
 * @param keyOf returns the public key with this id, as a JWK in JSON; undefined for an id that no gateway has
 * @throws MeshError `permission_denied` for an identity that no gateway signed, or that is for other work
 */
export async function readCaller(
  signed: string,
  { appName, userId, invocationId }: CallersWork,
  keyOf: (keyId: string) => Promise<string | undefined>,
): Promise<Caller> {
  const claims = await readSigned(signed, async (keyId, each) =>
    each === typ ? await keyOf(keyId) : undefined,
  );
  if (!claims) {
    throw new MeshError(
      'permission_denied',
      'the identity of the caller was not signed by a gateway of this mesh; start the run at a gateway',
    );
  }
  const { app, user, invocation, caller } = claims;
  if (app !== appName || user !== userId || invocation !== invocationId)
    throw new MeshError('permission_denied', 'the identity of the caller is for another run');
  return callerSchema.parse(caller);
}

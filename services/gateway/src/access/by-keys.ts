import type { Mesh } from '@agentmesh/mesh';
import { apiKeyHash, apiKeyPrefix, isApiKey, MeshError, meshTime } from '@agentmesh/protocol';
import type { Logger } from '@agentmesh/service';
import { type Authenticator, bearerOf } from './authenticator.ts';

export interface KeyOptions {
  keys: Pick<NonNullable<Mesh['apiKeys']>, 'find' | 'noteUse'>;
  log: Pick<Logger, 'warn'>;
  /** The time, in epoch ms; default the clock. */
  now?: () => number;
}

/** Time between two notes of the use of a key, in ms. */
const noteMs = 60_000;
/** Number of keys whose last note is remembered. */
const mostNoted = 10_000;

/** Reads API keys, which `agentmesh keys` makes. Each request looks its key up: a revoked key ends at once. */
export function byKeys({ keys, log, now = meshTime }: KeyOptions): Authenticator {
  const notedAt = new Map<string, number>();

  function note(key: string): void {
    const hash = apiKeyHash(key);
    const last = notedAt.get(hash) ?? Number.NEGATIVE_INFINITY;
    if (now() - last < noteMs) return;
    if (notedAt.size >= mostNoted) notedAt.clear();
    notedAt.set(hash, now());
    keys
      .noteUse(key)
      .catch((error: unknown) => log.warn({ err: error }, 'could not note the use of an API key'));
  }

  return {
    way: 'keys',
    wants: `an API key: Authorization: Bearer ${apiKeyPrefix}…`,
    async authenticate(request) {
      const key = bearerOf(request);
      if (!key?.startsWith(apiKeyPrefix)) return undefined;
      const found = isApiKey(key) ? await keys.find(key) : undefined;
      if (!found)
        throw new MeshError('unauthenticated', 'the API key is not valid, or was revoked; use another one');
      const { name, user, roles, expiresAt } = found;
      if (expiresAt !== undefined && expiresAt <= now())
        throw new MeshError('unauthenticated', `the API key ${name} has expired; use another one`);
      note(key);
      return { via: 'keys', key: name, roles, ...(user !== undefined && { user }) };
    },
  };
}

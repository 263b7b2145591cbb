import { assertOptions, decodeToken, keys, MeshError, type OptionNames } from '@agentmesh/protocol';
import { type ConnectionOptions, connectRedis } from './connection/redis-connection.ts';

/** A user of an app. */
export interface AppUser {
  app: string;
  user: string;
}

export interface WaitingUsersOptions extends Pick<ConnectionOptions, 'url' | 'caFile' | 'timeoutMs'> {
  /** First part of all keys; default `am`. */
  prefix?: string;
}

const optionNames: OptionNames<WaitingUsersOptions> = {
  url: true,
  caFile: true,
  timeoutMs: true,
  prefix: true,
};

/**
 * Lists the users of all apps who have calls that wait for an answer. It reads the names of all keys in Redis,
 * so it is for operators.
 *
 * @throws MeshError `unavailable`, `unauthenticated`, and `permission_denied` for a user that may not scan
 */
export async function listWaitingUsers(options: WaitingUsersOptions): Promise<AppUser[]> {
  assertOptions('listWaitingUsers', options ?? null, optionNames);
  const { prefix, ...server } = options;
  await using connection = await connectRedis({ ...server, connectionName: 'agentmesh-operator' });
  const [before = '', after = ''] = keys(prefix).pending('a', 'u').split('a:u');
  try {
    const found = await connection.keysLike(`${escaped(before)}*:*${escaped(after)}`);
    return found.flatMap((key) => userIn(key.slice(before.length, key.length - after.length)) ?? []);
  } catch (error) {
    if (MeshError.from(error).code !== 'permission_denied') throw error;
    throw new MeshError(
      'permission_denied',
      'this user of Redis may not list all keys; use the user of the provisioning step in REDIS_URL',
      { cause: error },
    );
  }
}

/** Makes a text stand for itself in a pattern of Redis. */
function escaped(text: string): string {
  return text.replace(/[*?[\]\\]/g, '\\$&');
}

function userIn(tag: string): AppUser | undefined {
  const [app, user, ...rest] = tag.split(':');
  if (app === undefined || user === undefined || rest.length > 0) return undefined;
  return { app: decodeToken(app), user: decodeToken(user) };
}

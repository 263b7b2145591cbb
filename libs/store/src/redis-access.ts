import { MeshError } from '@agentmesh/protocol';
import { type ConnectionOptions, connectRedis, type RedisConnection } from './connection/redis-connection.ts';

/** The rules of a user of Redis, as `ACL SETUSER` takes them. */
export interface RedisAccess {
  user: string;
  rules: readonly string[];
}

/** The users of a running Redis, for an operator whose user may change them. */
export interface RedisAccessList extends AsyncDisposable {
  /** Makes a user with these rules alone, or replaces all its rules and passwords. */
  put(access: RedisAccess): Promise<void>;
  /** Changes the rules of a user, and nothing else. A user that does not exist is left out. */
  change(access: RedisAccess): Promise<void>;
  /** Removes a user, and closes its connections. Returns whether there was one. */
  remove(user: string): Promise<boolean>;
  /** Saves the users to the ACL file. Returns false for a Redis without such a file, which keeps them in memory. */
  save(): Promise<boolean>;
}

/**
 * Opens the users of a Redis that is one server.
 *
 * @throws MeshError `permission_denied` for a user that may not change users; `failed_precondition` for a cluster
 * and for a server with replicas, because each server has its own users; `unavailable`, `unauthenticated`
 */
export async function openRedisAccess(
  options: Pick<ConnectionOptions, 'url' | 'caFile' | 'timeoutMs'>,
): Promise<RedisAccessList> {
  const connection = await connectRedis({ ...options, connectionName: 'agentmesh-access' });
  const acl = (...words: string[]) => connection.run((redis) => redis.call('ACL', words));
  try {
    await acl('GETUSER', 'default');
    await assertOneServer(connection);
  } catch (thrown) {
    await connection[Symbol.asyncDispose]();
    throw thrown;
  }
  return {
    put: async ({ user, rules }) => void (await acl('SETUSER', user, 'reset', ...rules)),
    async change({ user, rules }) {
      if (await acl('GETUSER', user)) await acl('SETUSER', user, ...rules);
    },
    remove: async (user) => Number(await acl('DELUSER', user)) > 0,
    async save() {
      try {
        await acl('SAVE');
        return true;
      } catch (thrown) {
        if (/not configured to use an ACL file/i.test(String(MeshError.from(thrown).cause))) return false;
        throw thrown;
      }
    },
    [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
  };
}

async function assertOneServer(connection: RedisConnection): Promise<void> {
  const info = String(await connection.run((redis) => redis.call('INFO', ['everything'])));
  if (!/^redis_mode:cluster/m.test(info) && !/^connected_slaves:[1-9]/m.test(info)) return;
  throw new MeshError(
    'failed_precondition',
    'Redis has several servers, each with its own users; make the user on each of them',
  );
}

import { MeshError } from '../errors/mesh-error.ts';

/** The address of Redis, read from its url. */
export interface RedisAddress {
  /** One server; the nodes of a Redis Cluster; or Sentinels, which know the primary. */
  kind: 'single' | 'cluster' | 'sentinel';
  tls: boolean;
  /** The server, some nodes of the cluster, or the Sentinels. */
  hosts: { host: string; port: number }[];
  username?: string;
  password?: string;
  /** The number of the database; a cluster has only number 0. */
  db: number;
  /** The name under which the Sentinels know the primary. */
  primary?: string;
  sentinelUsername?: string;
  sentinelPassword?: string;
}

const form =
  /^(rediss?)(?:\+(cluster|sentinel))?:\/\/(?:([^/?#]*)@)?([^@/?#]*)(?:\/([^/?#]*))?(?:\?([^#]*))?$/;

/**
 * Reads `redis://user:password@host:6379/0`, `redis+cluster://user:password@h1:6379,h2:6379` or
 * `redis+sentinel://user:password@h1:26379,h2:26379/primary/0`; `rediss` instead of `redis` for TLS. The
 * credentials of the Sentinels themselves come last: `?sentinel-user=…&sentinel-password=…`.
 *
 * @throws MeshError `invalid_argument` whose message begins with `the url of redis`. It shows no part of the
 * url, because any part may be a misplaced password
 */
export function parseRedisUrl(url: string): RedisAddress {
  // The path of Sentinels has a second part, which is the number of a database.
  const [, head = url, database] = /^([^?#]*:\/\/[^/?#]*\/[^/?#]+)\/(\d+)(?=\?|$)/.exec(url) ?? [];
  const rest = database === undefined ? url : head + url.slice(head.length + 1 + database.length);
  const [, scheme, kind = 'single', user, servers = '', path = '', query = ''] = form.exec(rest) ?? [];
  if (scheme === undefined) {
    throw wrong(
      'must look like redis://user:password@host:6379, redis+cluster://… or redis+sentinel://…/primary (rediss… for TLS), special ' +
        'characters of the password written as %40 for @',
    );
  }
  const address = {
    tls: scheme === 'rediss',
    hosts: hostsOf(servers, kind === 'sentinel' ? 26_379 : 6_379),
    ...accountOf(user),
  };
  if (kind === 'sentinel') return { ...address, kind, ...sentinelsOf(path, query), db: databaseOf(database) };
  if (query !== '') throw wrong('has something after ?, which only redis+sentinel:// knows; remove that');
  if (kind === 'cluster') {
    if (databaseOf(path || database) !== 0)
      throw wrong('names a database, and a cluster has 0 alone; remove that');
    return { ...address, kind, db: 0 };
  }
  if (database !== undefined)
    throw wrong('must have the number of a database, or nothing, behind the server');
  if (address.hosts.length > 1) {
    throw wrong('names several servers; begin it with redis+cluster:// or redis+sentinel://');
  }
  return { ...address, kind: 'single', db: databaseOf(path) };
}

function hostsOf(servers: string, defaultPort: number): RedisAddress['hosts'] {
  return servers.split(',').map((server, at) => {
    const [, six, name, digits] =
      /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]+))(?::(\d{1,5}))?$/.exec(server.trim()) ?? [];
    const host = six ?? name;
    const port = digits === undefined ? defaultPort : Number(digits);
    if (host === undefined || port < 1 || port > 65_535) {
      throw wrong(
        `must name each server as host or host:port, the port from 1 to 65535; number ${at + 1} is not so`,
      );
    }
    return { host, port };
  });
}

function accountOf(text: string | undefined): Pick<RedisAddress, 'username' | 'password'> {
  if (text === undefined || text === '') return {};
  const at = text.indexOf(':');
  const username = decoded(at === -1 ? text : text.slice(0, at));
  const password = at === -1 ? '' : decoded(text.slice(at + 1));
  if (password === '')
    throw wrong('names a user without a password; write user:password@, or :password@ for the default user');
  return { ...(username !== '' && { username }), password };
}

function sentinelsOf(
  path: string,
  query: string,
): Pick<RedisAddress, 'primary' | 'sentinelUsername' | 'sentinelPassword'> {
  if (path === '')
    throw wrong(
      'must end with the name of the primary, as the sentinels know it: redis+sentinel://…/mymaster',
    );
  const parameters =
    query === '' ? [] : query.split('&').map((each) => each.split('=', 2) as [string, string?]);
  const known = new Map(parameters.map(([name, value = '']) => [name, decoded(value)]));
  for (const name of known.keys()) {
    if (name !== 'sentinel-user' && name !== 'sentinel-password') {
      throw wrong('may have sentinel-user and sentinel-password after ?, and nothing else');
    }
  }
  const [sentinelUsername, sentinelPassword] = [known.get('sentinel-user'), known.get('sentinel-password')];
  if (sentinelUsername && !sentinelPassword) throw wrong('names a sentinel-user without sentinel-password');
  return {
    primary: decoded(path),
    ...(sentinelUsername && { sentinelUsername }),
    ...(sentinelPassword && { sentinelPassword }),
  };
}

function databaseOf(text: string | undefined): number {
  if (text === undefined || text === '') return 0;
  if (!/^\d{1,4}$/.test(text))
    throw wrong('must have the number of a database, or nothing, behind the server');
  return Number(text);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw wrong('has a % that begins no encoded character; write % as %25');
  }
}

function wrong(problem: string): MeshError {
  return new MeshError('invalid_argument', `the url of redis ${problem}`);
}

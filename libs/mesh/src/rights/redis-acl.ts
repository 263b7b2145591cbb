import { type RedisUsersOptions, redisUsers } from './redis-users.ts';

export interface RedisAclOptions extends RedisUsersOptions {
  /** Returns the SHA-256 of a user's password as hexadecimal digits, or a word that is replaced by it later. */
  passwordHash: (user: string) => string;
}

/**
 * Returns the lines of an ACL file of Redis 7 for the services of a mesh. No user may load or evaluate code,
 * except the user of the provisioning step, who loads the functions.
 */
export function redisAcl({ passwordHash, ...options }: RedisAclOptions): string {
  return redisUsers(options)
    .map(({ name, patterns, commands }) =>
      [
        ...['user', name, 'on', `#${passwordHash(name)}`, 'resetchannels', 'resetkeys', ...patterns],
        ...['nocommands', ...commands.map((command) => `+${command}`)],
      ].join(' '),
    )
    .map((line) => `${line}\n`)
    .join('');
}

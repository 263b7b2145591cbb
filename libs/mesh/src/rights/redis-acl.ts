import { type RedisUsersOptions, redisUsers } from './redis-users.ts';

export interface RedisAclOptions extends RedisUsersOptions {
  /** Returns the SHA-256 of a user's password as hexadecimal digits, or a word that is replaced by it later. */
  passwordHash: (user: string) => string;
}

/** Returns the name of the variable that holds a user's password, where the users of Redis are written. */
export function redisPasswordVariable(user: string): string {
  return `REDIS_PASSWORD_${user.toUpperCase().replaceAll('-', '_')}`;
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

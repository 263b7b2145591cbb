import { passwordVariable } from './password-variable.ts';
import { type RedisUser, type RedisUsersOptions, redisUsers } from './redis-users.ts';

export interface RedisAclOptions extends RedisUsersOptions {
  /** Returns the SHA-256 of a user's password as hexadecimal digits, or a word that is replaced by it later. */
  passwordHash: (user: string) => string;
}

/** Returns the name of the variable that holds a user's password, where the users of Redis are written. */
export function redisPasswordVariable(user: string): string {
  return passwordVariable('REDIS_PASSWORD', user);
}

/**
 * The line of the default user in an ACL file: nobody can log in as this user, who has all rights. Redis reads its
 * append-only file as this user, and leaves out each transaction whose commands the user may not call: without the
 * rights a restart would lose what the functions have written.
 */
export const redisDefaultUser = 'user default off ~* &* +@all';

/**
 * Returns the lines of an ACL file of Redis 7 for the services of a mesh. No user may load or evaluate code,
 * except the user of the provisioning step, who loads the functions.
 */
export function redisAcl({ passwordHash, ...options }: RedisAclOptions): string {
  return redisUsers(options)
    .map((user) => ['user', user.name, 'on', `#${passwordHash(user.name)}`, ...redisRules(user)].join(' '))
    .map((line) => `${line}\n`)
    .join('');
}

/** Returns the rules of a user, as `ACL SETUSER` and an ACL file have them: its keys and its commands, no others. */
export function redisRules({ patterns, commands }: Pick<RedisUser, 'patterns' | 'commands'>): string[] {
  return [
    ...['resetchannels', 'resetkeys', ...patterns],
    ...['nocommands', ...commands.map((command) => `+${command}`)],
  ];
}

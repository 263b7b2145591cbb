import { redisAcl } from '@agentmesh/mesh';
import { samples } from '../local/samples.ts';

/** Returns the name of the variable that holds a user's password, in the environment of `start.sh`. */
export function redisPasswordVariable(user: string): string {
  return `REDIS_PASSWORD_${placeOf(user)}`;
}

function placeOf(user: string): string {
  return user.toUpperCase().replaceAll('-', '_');
}

/** The users of replicas and Sentinels. */
const ofServers = `user replica on #PASSWORD_OF_REPLICA resetchannels resetkeys nocommands +psync +replconf +ping
user sentinel on #PASSWORD_OF_SENTINEL resetchannels allchannels resetkeys nocommands +multi +exec +slaveof +ping +subscribe +publish +role +info +config|rewrite +client|setname +client|kill +script|kill
`;

/**
 * Makes `users.acl` for the samples. The rights of each service are derived from its definition. Redis allows
 * no comments in such a file. `#PASSWORD_OF_<user>` stands for the SHA-256 of a password.
 */
export function redisUsersFile(): string {
  const services = samples.map(({ manifest }) => manifest);
  const passwordHash = (user: string) => `PASSWORD_OF_${placeOf(user)}`;
  return `user default off\n${redisAcl({ services, passwordHash })}${ofServers}`;
}

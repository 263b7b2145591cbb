import { redisAcl, redisPasswordVariable } from '@agentmesh/mesh';
import { samples } from '../local/samples.ts';

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
  const passwordHash = (user: string) =>
    redisPasswordVariable(user).replace('REDIS_PASSWORD_', 'PASSWORD_OF_');
  return `user default off\n${redisAcl({ services, passwordHash })}${ofServers}`;
}

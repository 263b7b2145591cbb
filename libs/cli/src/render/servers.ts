import {
  natsAccounts,
  natsPasswordVariable,
  redisAcl,
  redisDefaultUser,
  redisPasswordVariable,
  redisPrefixOf,
  type ServiceManifest,
} from '@agentmesh/mesh';

/** Returns a configuration of nats-server with the rights of services. Passwords come from its environment. */
export function natsConfiguration(services: readonly ServiceManifest[], namespace: string): string {
  const password = (_user: string, service: string) => `$${natsPasswordVariable(service)}`;
  return `# Passwords come from the environment.
max_payload: 1MB
write_deadline: "10s"
# A machine that is gone is noticed after two unanswered pings; its calls wait for so long.
ping_interval: "20s"
ping_max: 2
lame_duck_duration: "30s"
lame_duck_grace_period: "5s"

${natsAccounts({ services, password, namespace })}`;
}

/** The users of replicas and Sentinels. */
const ofServers = `user replica on #PASSWORD_OF_REPLICA resetchannels resetkeys nocommands +psync +replconf +ping
user sentinel on #PASSWORD_OF_SENTINEL resetchannels allchannels resetkeys nocommands +multi +exec +slaveof +ping +subscribe +publish +role +info +config|rewrite +client|setname +client|kill +script|kill
`;

/**
 * Returns an ACL file of Redis with the rights of services. Redis allows no comments in such a file.
 * `#PASSWORD_OF_<user>` stands for the SHA-256 of a password, which {@link redisStart} fills in.
 */
export function redisUsersFile(services: readonly ServiceManifest[], namespace: string): string {
  const passwordHash = (user: string) =>
    redisPasswordVariable(user).replace('REDIS_PASSWORD_', 'PASSWORD_OF_');
  return `${redisDefaultUser}\n${redisAcl({ services, passwordHash, prefix: redisPrefixOf(namespace) })}${ofServers}`;
}

/** The script that starts Redis with the users of the file, and with passwords from the environment. */
export const redisStart = `#!/bin/sh
# Starts Redis with the users of the mesh and their rights alone. The password of user \`gateway\` comes from
# REDIS_PASSWORD_GATEWAY, and so on; no password stands in an argument. The users \`replica\` and \`sentinel\` may be left out.
# Use: start.sh USERS_ACL FOLDER [argument of redis-server …]; the folder takes the users with the passwords' hashes.
set -eu
users=$1
# redis-server changes its folder before it reads the users.
folder=$(cd "$2" && pwd)
shift 2
umask 077
missing=
edits=
for user in $(sed -n 's/.* #PASSWORD_OF_\\([A-Z0-9_]*\\) .*/\\1/p' "$users"); do
  password=$(printenv "REDIS_PASSWORD_$user" || true)
  unset "REDIS_PASSWORD_$user"
  if [ -n "$password" ]; then
    hash=$(printf %s "$password" | sha256sum | cut -d ' ' -f 1)
    edits="$edits;s/#PASSWORD_OF_$user /#$hash /"
  elif [ "$user" != REPLICA ] && [ "$user" != SENTINEL ]; then
    missing="$missing REDIS_PASSWORD_$user"
  fi
done
if [ -n "$missing" ]; then
  echo "set the passwords of the users of Redis:$missing" >&2
  exit 1
fi
sed -e "\${edits#;}" -e '/#PASSWORD_OF_/d' "$users" >"$folder/users.acl"
exec redis-server --aclfile "$folder/users.acl" "$@"
`;

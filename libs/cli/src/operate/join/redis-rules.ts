import { redisRules, redisUsers, type ServiceManifest } from '@agentmesh/mesh';
import type { RedisAccessList } from '@agentmesh/store';

/** Returns the rules of a service's user of Redis; undefined for a service that needs none. */
export function ruleOf(
  services: readonly ServiceManifest[],
  service: string,
  prefix: string,
): string[] | undefined {
  const user = redisUsers({ services, prefix }).find(({ name }) => name === service);
  return user && redisRules(user);
}

/** Changes the rules of the other users that depend on a service that comes or goes: the agents that call it. */
export async function changeOthers(
  redis: RedisAccessList,
  prefix: string,
  { before, after }: { before: readonly ServiceManifest[]; after: readonly ServiceManifest[] },
): Promise<void> {
  const old = new Map(redisUsers({ services: before, prefix }).map((user) => [user.name, redisRules(user)]));
  for (const user of redisUsers({ services: after, prefix })) {
    const rules = redisRules(user);
    const known = old.get(user.name);
    if (known && known.join(' ') !== rules.join(' ')) await redis.change({ user: user.name, rules });
  }
}

/** Saves the users. Returns what is left to do when Redis keeps them in memory. */
export async function saveUsers(redis: RedisAccessList, line: string): Promise<string[]> {
  if (await redis.save()) return [];
  return [
    `Redis has no ACL file, and forgets the user at a restart unless you add this line to its users: ${line}`,
  ];
}

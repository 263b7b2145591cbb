import { createSecretBox, keys } from '@agentmesh/protocol';
import type { Redis } from 'ioredis';

/** Lets the user's calendar token expire: seals the stored credential again with an end in the past. */
export async function expire(
  redis: Redis,
  credentialKeys: string,
  { app, user }: { app: string; user: string },
): Promise<void> {
  const box = createSecretBox(credentialKeys);
  const key = keys().credential(app, user, 'calendar');
  const credential = JSON.parse(await box.open((await redis.get(key)) ?? '', key));
  credential.oauth2.expiresAt = 1;
  await redis.set(key, await box.seal(JSON.stringify(credential), key));
}

/** Returns all values in Redis. */
export async function redisValues(redis: Redis): Promise<string[]> {
  const values: string[] = [];
  for (const key of await redis.keys('*')) {
    const type = await redis.type(key);
    if (type === 'string') values.push(`${key} ${await redis.get(key)}`);
    if (type === 'hash') values.push(`${key} ${JSON.stringify(await redis.hgetall(key))}`);
    if (type === 'stream') values.push(`${key} ${JSON.stringify(await redis.xrange(key, '-', '+'))}`);
    if (type === 'zset') values.push(`${key} ${JSON.stringify(await redis.zrange(key, '0', '-1'))}`);
  }
  return values;
}

import { dataKeyBox, type KeyRingBox, keyRingWrapper, keys } from '@agentmesh/protocol';
import type { Redis } from 'ioredis';

/** Opens the box with the data key of a user, as a keeper with the master key does. */
export async function boxOfUser(
  redis: Redis,
  credentialKeys: string,
  { app, user }: { app: string; user: string },
): Promise<KeyRingBox> {
  const place = keys().dataKey(app, user);
  return dataKeyBox(await keyRingWrapper(credentialKeys).unwrap((await redis.get(place)) ?? '', place));
}

/** Lets the user's calendar token expire: seals the stored credential again with an end in the past. */
export async function expire(
  redis: Redis,
  credentialKeys: string,
  owner: { app: string; user: string },
): Promise<void> {
  const box = await boxOfUser(redis, credentialKeys, owner);
  const key = keys().credential(owner.app, owner.user, 'calendar');
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

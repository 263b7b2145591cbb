import type { Redis } from 'ioredis';

/** What a server has done so far. */
export interface RedisCost {
  commands: number;
  /** Sent to clients. */
  bytes: number;
}

async function read(redis: Redis): Promise<RedisCost> {
  const info = await redis.info('stats');
  const figure = (name: string) => Number(new RegExp(`${name}:(\\d+)`).exec(info)?.[1] ?? Number.NaN);
  return { commands: figure('total_commands_processed'), bytes: figure('total_net_output_bytes') };
}

function minus(one: RedisCost, other: RedisCost): RedisCost {
  return { commands: one.commands - other.commands, bytes: one.bytes - other.bytes };
}

/** What Redis does for some work, without what the measuring itself costs. */
export async function redisCostOf(redis: Redis, work: () => Promise<void>): Promise<RedisCost> {
  const [first, before] = [await read(redis), await read(redis)];
  await work();
  return minus(minus(await read(redis), before), minus(before, first));
}

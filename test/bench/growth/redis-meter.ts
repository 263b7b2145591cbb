import type { Redis } from 'ioredis';

/** The work of a Redis server so far. */
export interface RedisCost {
  commands: number;
  /** The number of bytes sent to clients. */
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

/** Measures the work of Redis for a piece of code, without the cost of the measurement. */
export async function redisCostOf(redis: Redis, work: () => Promise<void>): Promise<RedisCost> {
  const [first, before] = [await read(redis), await read(redis)];
  await work();
  return minus(minus(await read(redis), before), minus(before, first));
}

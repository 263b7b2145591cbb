import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';

/** The time for which a piece of work may go on behind its answer, in ms. */
const restMs = 100;

/**
 * Counts what Redis does for a piece of work that runs alone: the requests that clients send, and all commands,
 * those within functions too.
 */
export async function countCommands(
  url: string,
  work: () => Promise<void>,
  trace?: (line: string) => void,
): Promise<{ requests: number; commands: number }> {
  await using client = await openMonitor(url);
  let requests = 0;
  let commands = 0;
  client.monitor.on('monitor', (_time: string, args: string[], source: string) => {
    commands += 1;
    if (source !== 'lua') requests += 1;
    trace?.(`${source === 'lua' ? '  ' : ''}${args.map((each) => each.slice(0, 120)).join(' ')}`);
  });
  await work();
  await delay(restMs);
  return { requests, commands };
}

async function openMonitor(url: string): Promise<{ monitor: Redis } & AsyncDisposable> {
  const redis = new Redis(url);
  const monitor = await redis.monitor();
  return {
    monitor,
    async [Symbol.asyncDispose]() {
      monitor.disconnect();
      await redis.quit();
    },
  };
}

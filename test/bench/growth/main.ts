import { provision } from '@agentmesh/bus';
import { connectMesh } from '@agentmesh/mesh';
import { keys as keysOf } from '@agentmesh/protocol';
import { createLogger } from '@agentmesh/service';
import { startNats, startRedis } from '@agentmesh/testing';
import { Redis } from 'ioredis';
import { spawnAgents } from '../spawn-agents.ts';
import { median } from '../table.ts';
import { pastEvent } from './past.ts';
import { prompts } from './prompts.ts';
import { type RedisCost, redisCostOf } from './redis-meter.ts';
import { adkWorld, memoryWorld, meshWorld, type World } from './worlds.ts';

/** Lengths of the past, in events. */
const lengths = (process.argv[2] ?? '10,100,1000,10000,100000').split(',').map(Number);
const rounds = Number(process.argv[3] ?? 21);
/** ADK copies the whole session several times a turn; so often it is measured where that takes seconds. */
const slowRounds = 3;

interface Figures {
  times: number[];
  costs: RedisCost[];
}

async function main(): Promise<void> {
  await using nats = await startNats();
  await using redisServer = await startRedis();
  await provision({ url: nats.url, agents: prompts.map((prompt) => `${prompt}_agent`) });
  await using _agents = await spawnAgents('growth/agents.ts', nats.url, redisServer.url);
  const log = createLogger({ service: 'bench', replica: 'driver', level: 'warn' });
  await using mesh = await connectMesh({
    service: 'driver',
    natsUrl: nats.url,
    redisUrl: redisServer.url,
    log,
  });
  const redis = new Redis(redisServer.url);
  // ADK prints a line per turn to the console.
  const { info, debug } = console;
  console.info = () => {};
  console.debug = () => {};
  const meshWorlds = prompts.map((prompt) => meshWorld(mesh, redis, prompt));
  const worlds = [
    ...meshWorlds,
    ...prompts.map(memoryWorld),
    adkWorld('none', Number.POSITIVE_INFINITY),
    adkWorld('full', Number.POSITIVE_INFINITY),
  ];
  const figures = new Map<string, Figures>();
  const of = (world: World, past: number) => {
    const key = `${world.name} ${past}`;
    const found = figures.get(key) ?? { times: [], costs: [] };
    figures.set(key, found);
    return found;
  };
  // Each world's shorter sessions are made anew for each round: their length is what it says.
  const long = new Map<string, string>();
  for (const past of lengths.filter((length) => length >= 10_000)) {
    for (const world of worlds) {
      process.stderr.write(`makes ${past} past events: ${world.name}\n`);
      const session = await world.makeSession(past);
      await world.turn(session);
      long.set(`${world.name} ${past}`, session);
    }
  }
  for (let round = 0; round <= rounds; round += 1) {
    for (const past of lengths) {
      for (const world of worlds) {
        const known = long.get(`${world.name} ${past}`);
        const isSlow = world.name.startsWith('ADK') && past >= 10_000;
        if (isSlow && round > slowRounds) continue;
        const session = known ?? (await world.makeSession(past));
        // The process that works has had the session before.
        if (known === undefined) await world.turn(session);
        let ms = 0;
        const turn = async () => {
          const at = performance.now();
          await world.turn(session);
          ms = performance.now() - at;
        };
        const cost = meshWorlds.includes(world) ? await redisCostOf(redis, turn) : await turn();
        // The first round warms up.
        if (round === 0) continue;
        of(world, past).times.push(ms);
        if (cost) of(world, past).costs.push(cost);
      }
    }
    process.stderr.write(round === 0 ? 'warmed up\n' : `round ${round} of ${rounds}\n`);
  }
  Object.assign(console, { info, debug });
  const p50 = (world: World, past: number) => median(of(world, past).times);
  const base = lengths[0] ?? 10;
  print(
    ['ms per turn, p50 (ratio to the shortest)', ...lengths.map(String)],
    worlds.map((world) => [
      world.name,
      ...lengths.map(
        (past) => `${p50(world, past).toFixed(2)} (${(p50(world, past) / p50(world, base)).toFixed(2)})`,
      ),
    ]),
  );
  const costRow = (world: World, name: keyof RedisCost) =>
    lengths.map((past) => String(Math.round(median(of(world, past).costs.map((cost) => cost[name])))));
  print(
    ['Redis, per turn', ...lengths.map(String)],
    meshWorlds.flatMap((world) => [
      [`${world.name}: commands`, ...costRow(world, 'commands')],
      [`${world.name}: bytes read`, ...costRow(world, 'bytes')],
    ]),
  );
  await printBytes(redis, long);
  redis.disconnect();
}

/** What an event takes, in JSON and in Redis. */
async function printBytes(redis: Redis, long: ReadonlyMap<string, string>): Promise<void> {
  const sample = Array.from({ length: 400 }, (_, n) => JSON.stringify(pastEvent(n, 'none_agent')).length);
  const json = Math.round(sample.reduce((sum, length) => sum + length, 0) / sample.length);
  for (const [key, sessionId] of long) {
    const [, prompt, past] = /^agentmesh: durable turn, prompt: (\w+) (\d+)$/.exec(key) ?? [];
    if (prompt === undefined || past === undefined) continue;
    const ref = { appName: prompt, userId: 'growth', sessionId };
    const used = await redis.memory('USAGE', keysOf().events(ref), 'SAMPLES', 0);
    const events = await redis.xlen(keysOf().events(ref));
    console.log(
      `${events} events: ${((used ?? 0) / events).toFixed(0)} bytes each in Redis, ${json} as JSON`,
    );
  }
}

function print(head: string[], rows: string[][]): void {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`;
  console.log(
    [line(head), line(head.map((_, at) => (at === 0 ? '---' : '---:'))), ...rows.map(line), ''].join('\n'),
  );
}

await main();

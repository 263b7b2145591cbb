import { provision } from '@agentmesh/bus';
import { connectMesh } from '@agentmesh/mesh';
import { keys as keysOf } from '@agentmesh/protocol';
import { createLogger } from '@agentmesh/service';
import { startNats, startRedis } from '@agentmesh/testing';
import { Redis } from 'ioredis';
import { median } from '../median.ts';
import { spawnAgents } from '../spawn-agents.ts';
import { meshWorld } from './mesh-world.ts';
import { pastEvent } from './past.ts';
import { processWorld } from './process-world.ts';
import { prompts } from './prompts.ts';
import { type RedisCost, redisCostOf } from './redis-meter.ts';
import type { World } from './world.ts';

/** The lengths of the past, in events. */
const lengths = (process.argv[2] ?? '10,100,1000,10000,100000').split(',').map(Number);
const rounds = Number(process.argv[3] ?? 21);
/**
 * The number of rounds for turns that take seconds, as in ADK, which copies the whole session several times a
 * turn.
 */
const slowRounds = 3;

interface Figures {
  times: number[];
  costs: RedisCost[];
}

async function main(): Promise<void> {
  await using nats = await startNats();
  await using redisServer = await startRedis();
  await provision({ url: nats.url, agents: prompts.map((prompt) => `${prompt}_agent`) });
  await using owners = new AsyncDisposableStack();
  for (const prompt of prompts)
    owners.use(await spawnAgents('growth/agents.ts', nats.url, redisServer.url, prompt));
  const log = createLogger({ service: 'bench', replica: 'driver', level: 'warn' });
  await using mesh = await connectMesh({
    service: 'driver',
    natsUrl: nats.url,
    redisUrl: redisServer.url,
    log,
  });
  const redis = new Redis(redisServer.url);
  const meshWorlds = prompts.map((prompt) => meshWorld(mesh, redis, prompt));
  const worlds = [
    ...meshWorlds,
    ...prompts.map((prompt) => owners.use(processWorld('agentmesh', prompt))),
    ...(['none', 'full'] as const).map((prompt) => owners.use(processWorld('adk', prompt))),
  ];
  const sessions = await makeSessions(worlds);
  const of = await measure(worlds, sessions, (world, turn) =>
    meshWorlds.includes(world) ? redisCostOf(redis, turn) : turn().then(() => undefined),
  );
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
  await printBytes(redis, sessions);
  redis.disconnect();
}

type FiguresOf = (world: World, past: number) => Figures;

/** Measures a turn of each world at each length, round by round. The first round warms up. */
async function measure(
  worlds: readonly World[],
  sessions: ReadonlyMap<string, string[]>,
  costOf: (world: World, turn: () => Promise<void>) => Promise<RedisCost | undefined>,
): Promise<FiguresOf> {
  const figures = new Map<string, Figures>();
  const of: FiguresOf = (world, past) => {
    const key = `${world.name} ${past}`;
    const found = figures.get(key) ?? { times: [], costs: [] };
    figures.set(key, found);
    return found;
  };
  const cases = lengths.flatMap((past) => worlds.map((world) => ({ world, past })));
  for (let round = 0; round <= rounds; round += 1) {
    for (const { world, past } of cases) {
      if (world.isSlow && past >= longLength && round > slowRounds) continue;
      const session = sessions.get(`${world.name} ${past}`)?.[isLong(past) ? 0 : round] ?? '';
      let ms = 0;
      const cost = await costOf(world, async () => {
        ms = await world.turn(session);
      });
      if (round === 0) continue;
      of(world, past).times.push(ms);
      if (cost) of(world, past).costs.push(cost);
    }
    process.stderr.write(round === 0 ? 'warmed up\n' : `round ${round} of ${rounds}\n`);
  }
  return of;
}

/**
 * The length from which on a few more turns make no difference, so that one session is enough for all rounds.
 */
const longLength = 10_000;
const isLong = (past: number) => past >= longLength;

/**
 * Makes the sessions of each world and length before the first measurement. Each process has then worked on
 * its sessions before: the cost of a session that is new to a process does not belong to a turn.
 */
async function makeSessions(worlds: readonly World[]): Promise<Map<string, string[]>> {
  const sessions = new Map<string, string[]>();
  for (const past of lengths) {
    process.stderr.write(`makes sessions of ${past} events\n`);
    for (const world of worlds) {
      const made: string[] = [];
      for (let n = 0; n < (isLong(past) ? 1 : rounds + 1); n += 1) {
        const session = await world.makeSession(past);
        await world.turn(session);
        made.push(session);
      }
      sessions.set(`${world.name} ${past}`, made);
    }
  }
  return sessions;
}

/** Prints the size of an event, in JSON and in Redis. */
async function printBytes(redis: Redis, sessions: ReadonlyMap<string, string[]>): Promise<void> {
  const sample = Array.from({ length: 400 }, (_, n) => JSON.stringify(pastEvent(n, 'none_agent')).length);
  const json = Math.round(sample.reduce((sum, length) => sum + length, 0) / sample.length);
  for (const [key, [sessionId = '']] of sessions) {
    const [, prompt, past] = /^agentmesh: durable turn, prompt: (\w+) (\d+)$/.exec(key) ?? [];
    if (prompt === undefined || !isLong(Number(past))) continue;
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

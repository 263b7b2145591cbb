import { provision } from '@agentmesh/bus';
import { connectMesh } from '@agentmesh/mesh';
import { createLogger } from '@agentmesh/service';
import { startNats, startRedis } from '@agentmesh/testing';
import { connect } from '@nats-io/transport-node';
import { askCases, type Case, turnCases } from './cases.ts';
import { runCase } from './run-case.ts';
import { spawnAgents } from './spawn-agents.ts';
import { median, type Row, table } from './table.ts';

/**
 * The number of rounds. Each round measures every case once, so that a disturbance of the machine affects all
 * cases alike.
 */
const rounds = 7;

async function main(): Promise<void> {
  await using nats = await startNats();
  await using redis = await startRedis({ appendOnly: true });
  await provision({ url: nats.url, agents: ['echo_agent', 'turn_agent'] });
  await using _agents = await spawnAgents('agents.ts', nats.url, redis.url);
  const log = createLogger({ service: 'bench', replica: 'driver', level: 'warn' });
  await using mesh = await connectMesh({ service: 'driver', natsUrl: nats.url, redisUrl: redis.url, log });
  const raw = await connect({ servers: nats.url, noAsyncTraces: true });
  // ADK prints a line per turn to the console.
  const { info, debug } = console;
  console.info = () => {};
  console.debug = () => {};
  const cases = [...askCases(mesh, raw), ...turnCases(mesh)];
  const figures = new Map<Case, Row[]>(cases.map((each) => [each, []]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const each of cases) {
      const row = await measure(each);
      // The first round warms up.
      if (round > 0) figures.get(each)?.push(row);
    }
    process.stderr.write(round === 0 ? 'warmed up\n' : `round ${round} of ${rounds}\n`);
  }
  Object.assign(console, { info, debug });
  await raw.close();
  console.log(table(figures));
}

async function measure(each: Case): Promise<Row> {
  const { perSecond, times } = await runCase(each);
  return { perSecond, p50: median(times) };
}

await main();

/**
 * Measures the goals of performance: rates, times and CPU time of asks and turns beside the floor, which is the
 * same messages and commits by the client libraries alone; ADK in one process; the costs of a process. Needs
 * Linux.
 *
 * `npm run bench -- [--rounds 5] [--only <beginnings of cases, with commas, each an id or an id and a number in flight: "turn 64">]
 *   [--json <file>] [--keep] [--profile <folder>]`
 *
 * `npm run bench -- --trace <case's id>` prints the messages to (>) and from (<) NATS and the requests to Redis of one
 * repetition of a case instead, and the commands within the requests.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { provision } from '@agentmesh/bus';
import { connectMesh } from '@agentmesh/mesh';
import { AsyncDisposableStack } from '@agentmesh/protocol';
import { createLogger } from '@agentmesh/service';
import { natsMessages, startNats, startRedis, startTcpProxy, until } from '@agentmesh/testing';
import { connect } from '@nats-io/transport-node';
import { benchCases, type Case } from './cases.ts';
import { countCommands } from './count-commands.ts';
import { cpuOf } from './cpu.ts';
import { floorAgent, openFloor } from './floor/floor.ts';
import { hopAgent, hops } from './hops/hops.ts';
import { median } from './median.ts';
import { otherCases } from './others/other-cases.ts';
import { beginProfiles } from './profiles.ts';
import { drawGoals } from './report/chart.ts';
import { type Results, verdictsOn } from './report/goals.ts';
import { type Entry, entryOf, keep } from './report/history.ts';
import { figuresTable, goalsTable, mediansOf, type Round } from './report/tables.ts';
import { runCase } from './run-case.ts';
import { measureServiceCosts } from './service-costs.ts';
import { spawnAgents } from './spawn-agents.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    only: { type: 'string', default: '' },
    json: { type: 'string' },
    keep: { type: 'boolean', default: false },
    profile: { type: 'string' },
    trace: { type: 'string' },
  },
});
const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 1)
  throw new Error(`--rounds must be 1 or more; it is ${values.rounds}`);
if (values.keep && values.only !== '') throw new Error('--keep needs all cases; leave out --only');
/** V8 still compiles in the first rounds: an agent then takes a third more CPU time than after ten seconds of work. */
const warmUpRounds = 5;
const profiles = values.profile === undefined ? undefined : beginProfiles(values.profile);

await using nats = await startNats();
await using redis = await startRedis({ appendOnly: true });
const names = ['echo_agent', 'turn_agent', 'steps_agent', 'slow_agent', 'idle_agent', floorAgent];
await provision({ url: nats.url, agents: [...names, ...hops.map(hopAgent)], tools: ['get_stock_price'] });
let print: ((line: string) => void) | undefined;
const { hostname: host, port } = new URL(nats.url);
await using tap =
  values.trace === undefined
    ? undefined
    : await startTcpProxy({
        ...{ host, port: Number(port) },
        rewrite: natsMessages(({ direction, subject, body }) => {
          print?.(`${direction === 'up' ? '>' : '<'} ${subject} ${body.length} characters`);
          return 'pass';
        }),
      });
const natsUrl = tap ? `nats://127.0.0.1:${tap.port}` : nats.url;
await using tool = await spawnAgents('tool-agent.ts', natsUrl, redis.url);
await using agents = await spawnAgents('agents.ts', natsUrl, redis.url);
await using floorProcess = await spawnAgents('floor/floor-agent.ts', nats.url, redis.url);
const log = createLogger({ service: 'bench', replica: 'driver', level: 'warn' });
await using mesh = await connectMesh({ service: 'driver', natsUrl, redisUrl: redis.url, log });
await until(() => mesh.bus.directory.get('tool', 'get_stock_price'), { what: 'the card of the tool' });
const raw = await connect({ servers: nats.url, noAsyncTraces: true });
const floor = openFloor(raw, redis.url);
const processes = {
  redis: redis.pid,
  nats: nats.pid,
  agents: agents.pid,
  tool: tool.pid,
  floor: floorProcess.pid,
  driver: process.pid,
};
// ADK prints a line for each turn.
Object.assign(console, { info: () => {}, debug: () => {} });

await using others = new AsyncDisposableStack();
const wanted = values.trace ?? values.only;
const isWanted = (group: string) =>
  wanted.split(',').some((each) => group.startsWith(each) || each.startsWith(group));
const all = [
  ...benchCases(mesh, raw, floor),
  ...(await otherCases(others, { mesh, raw, natsUrl, redisUrl: redis.url, isWanted })),
];
if (values.trace !== undefined) {
  await trace(values.trace);
  await floor.close();
  await raw.close();
  process.exit();
}
const cases = all.filter(({ id, inFlight }) =>
  values.only.split(',').some((each) => `${id} ${inFlight}`.startsWith(each)),
);
const measured = new Map<Case, Round[]>(cases.map((each) => [each, []]));
for (let round = 1 - warmUpRounds; round <= rounds; round += 1) {
  for (const each of cases) {
    const row = await measure(each);
    if (round > 0) measured.get(each)?.push(row);
  }
  process.stderr.write(round > 0 ? `round ${round} of ${rounds}\n` : 'warming up\n');
}
await profiles?.end();
const results: Results = { figures: figuresByCase(), ...(values.only === '' && (await measureOnce())) };
await floor.close();
await raw.close();

const verdicts = verdictsOn(results);
const entry = entryOf(verdicts, rounds);
console.log(`${figuresTable(measured, Object.keys(processes))}\n\n${goalsTable(verdicts)}`);
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(jsonOf(entry), null, 2)}\n`);
if (values.keep) {
  const history = keep(entry);
  const chart = join(import.meta.dirname, '../../docs/performance.svg');
  writeFileSync(
    chart,
    drawGoals(verdicts, `commit ${entry.commit}, medians of ${rounds} rounds, ${entry.time}`),
  );
  process.stderr.write(
    `kept as entry ${history.length} of test/bench/history.jsonl; drew docs/performance.svg\n`,
  );
}
if (values.profile !== undefined)
  process.stderr.write(
    `profiles are written to ${values.profile}; open them with the developer tools of Chromium\n`,
  );

/** Prints the requests to Redis for a case, after some repetitions without a print. */
async function trace(id: string): Promise<void> {
  const traced = all.find((each) => each.id === id);
  if (!traced)
    throw new Error(
      `--trace: there is no case ${id}; the cases are ${all.map((each) => each.id).join(', ')}`,
    );
  for (let n = 0; n < 5; n += 1) await traced.once();
  print = (line) => process.stdout.write(`${line}\n`);
  await countCommands(redis.url, traced.once, print);
}

/** Measures one round of a case. */
async function measure(each: Case): Promise<Round> {
  const before = Object.values(processes).map(cpuOf);
  const { perSecond, times, lost } = await runCase(each);
  const cpu = Object.entries(processes).map(
    ([name, pid], at) => [name, (cpuOf(pid) - (before[at] ?? 0)) / each.count] as const,
  );
  return { perSecond, p50: median(times), lost, cpu: Object.fromEntries(cpu) };
}

function figuresByCase(): Results['figures'] {
  return new Map([...measured].map(([{ id, inFlight }, rows]) => [`${id} ${inFlight}`, mediansOf(rows)]));
}

/** Measures what needs no rounds: the work of Redis for a turn, and the costs of a process. */
async function measureOnce(): Promise<Pick<Results, 'redis' | 'service'>> {
  const turn = cases.find(({ id }) => id === 'turn');
  if (!turn) throw new Error('there is no case of a turn');
  // Sweeps of the agents may come between: the smallest count is that of the turn.
  const counts: Awaited<ReturnType<typeof countCommands>>[] = [];
  for (let n = 0; n < 5; n += 1) counts.push(await countCommands(redis.url, turn.once));
  return {
    redis: {
      requests: Math.min(...counts.map(({ requests }) => requests)),
      commands: Math.min(...counts.map(({ commands }) => commands)),
    },
    service: await measureServiceCosts(mesh, { natsUrl: nats.url, redisUrl: redis.url }),
  };
}

function jsonOf(all: Entry): object {
  const figures = [...measured].map(([{ id, name, inFlight }, rows]) => ({
    id,
    name,
    inFlight,
    ...mediansOf(rows),
  }));
  return { ...all, figures };
}

/**
 * Measures how long the run of one user takes while thousands of runs of another user wait, against the same run
 * without them. One replica with 16 slots, a model that thinks for a second.
 *
 * `node_modules/.bin/node test/bench/fairness.ts [runs] [think ms] [most waiting runs]`, default 3000 1000 10000
 */
import { provision } from '@agentmesh/bus';
import { connectMesh, startRun } from '@agentmesh/mesh';
import { createLogger } from '@agentmesh/service';
import { startNats, startRedis } from '@agentmesh/testing';
import { median } from './median.ts';
import { spawnAgents } from './spawn-agents.ts';

const [runs = 3_000, thinkMs = 1_000, waiting = 10_000] = process.argv.slice(2).map(Number);
/** The number of measured runs, one after the other. */
const samples = 10;
const crowd = { appName: 'slow_app', userId: 'ann' };

await using redis = await startRedis({ appendOnly: true });
await using nats = await startNats();
await provision({ url: nats.url, agents: ['slow_agent'] });
await using _agent = await spawnAgents(
  'slow-agent.ts',
  nats.url,
  redis.url,
  String(thinkMs),
  String(waiting),
);
const log = createLogger({ service: 'client', replica: 'bench', level: 'warn' });
await using client = await connectMesh({ service: 'client', natsUrl: nats.url, redisUrl: redis.url, log });

/** Runs a message of the other user in a new session. Returns the time to its end, in ms. */
async function once(): Promise<number> {
  const { id } = await client.sessions.createSession({ appName: 'slow_app', userId: 'ben' });
  const startedAt = performance.now();
  const run = await startRun(client, { app: 'slow_app', user: 'ben', session: id, message: 'go' });
  await Array.fromAsync(run.events);
  const { status } = await run.end;
  if (status !== 'completed') throw new Error(`a run ended as ${status}`);
  return performance.now() - startedAt;
}

async function measure(): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < samples; n += 1) times.push(await once());
  return times;
}

async function send(n: number): Promise<void> {
  const session = `ann-${n}`;
  const command = { app: 'slow_app', user: 'ann', session, message: 'go', invocationId: `e-${n}` };
  await client.bus.enqueue(client.subjects.agentRun('slow_agent', session), command, {
    messageId: `ann-${n}`,
  });
}

/** Counts the ends of the first user's runs among these, by their status. */
async function countEnds(numbers: number[]): Promise<Record<string, number>> {
  const records = await Promise.all(
    numbers.map((n) =>
      client.sessions.invocations.get({ ...crowd, sessionId: `ann-${n}`, invocationId: `e-${n}` }),
    ),
  );
  const groups = Map.groupBy(records, ({ status }) => status);
  return Object.fromEntries([...groups].map(([status, each]) => [status, each.length]));
}

const numbers = Array.from({ length: runs }, (_, n) => n);
for (const n of numbers) await client.sessions.createSession({ ...crowd, sessionId: `ann-${n}` });
await once();
const alone = await measure();
const sentAt = performance.now();
await Promise.all(numbers.map(send));
const sendingMs = performance.now() - sentAt;
const first = await once();
const waitingCount = await client.sessions.leases.countWaiting(crowd);
const before = await countEnds(numbers);
const startedAt = performance.now();
const beside = await measure();
const seconds = (performance.now() - startedAt) / 1_000;
const after = await countEnds(numbers);
const quiet = median(alone);
const times = (ms: number) => `${(ms / quiet).toFixed(2)} ×`;
console.log(`alone             ${quiet.toFixed(0)} ms (median of ${samples})`);
console.log(`sending           ${runs} runs of the other user in ${sendingMs.toFixed(0)} ms`);
console.log(
  `right behind      ${first.toFixed(0)} ms, ${times(first)}: the first run after the other user's runs`,
);
console.log(`                  ${waitingCount} of them wait then; all: ${JSON.stringify(before)}`);
console.log(
  `while they wait   ${median(beside).toFixed(0)} ms, ${times(median(beside))}; at most ${times(Math.max(...beside))}`,
);
const rate = ((after['completed'] ?? 0) - (before['completed'] ?? 0)) / seconds;
console.log(`the other user's runs meanwhile: ${rate.toFixed(1)}/s with a share of 8 of 16 slots`);

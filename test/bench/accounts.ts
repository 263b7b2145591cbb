/**
 * Measures the cost of NATS accounts: asks and enqueued runs between services with accounts of their own,
 * against the same between services in one account without rights. It compares CPU time, which other work of
 * the machine disturbs less than it disturbs the rate. Needs Linux.
 *
 * `node_modules/.bin/node test/bench/accounts.ts`
 */
import { readFileSync } from 'node:fs';
import { type Bus, connectNats, provision } from '@agentmesh/bus';
import { agentManifest, connectMesh, natsAccounts, provisionUser, serveAgent } from '@agentmesh/mesh';
import { subjects } from '@agentmesh/protocol';
import { createLogger } from '@agentmesh/service';
import { startNats, startRedis } from '@agentmesh/testing';
import { EchoAgent } from './echo-agent.ts';

/** The number of rounds. Each round measures every case on both servers. */
const rounds = 7;
/** The length of a tick in which Linux counts the CPU time of other processes, in ms. */
const tickMs = 10;
const names = subjects();
const agent = new EchoAgent({ name: 'echo_agent' });
/** The name of a service that only sends a request back, without Redis, and takes no runs. */
const mirror = new EchoAgent({ name: 'mirror' });
const text = 'x'.repeat(200);

/** The two ends of the messages on one server. */
interface Ends extends AsyncDisposable {
  client: Bus;
  gateway: Bus;
  /** The process of nats-server. */
  pid: number;
}

interface Case {
  name: string;
  inFlight: number;
  /** The number of repetitions in one round. */
  count: number;
  once(ends: Ends): Promise<void>;
}

/** CPU time, in ms, of the server and of this process, which holds both ends. */
interface Cost {
  server: number;
  ends: number;
  repetitions: number;
}

async function openEnds(redisUrl: string, withAccounts: boolean): Promise<Ends> {
  await using owners = new AsyncDisposableStack();
  const services = [agent, mirror].map(agentManifest);
  const configuration = withAccounts ? natsAccounts({ services, password: (user) => user }) : '';
  const { url, pid } = owners.use(await startNats({ configuration }));
  if (pid === undefined) throw new Error('the server does not run as a process of this machine');
  const login = (user: string) =>
    withAccounts ? { user, pass: user } : { user: undefined, pass: undefined };
  await provision({ url, ...login(provisionUser), agents: [agent.name, mirror.name] });
  const open = async (service: string) =>
    owners.use(await connectNats({ url, service, cards: false, ...login(service) }));
  const client = await open('client');
  const gateway = await open('gateway');
  const served = await open(`agent_${mirror.name}`);
  await served.serve(names.agentAsk(mirror.name), async function* (request) {
    yield { type: 'result', data: request.json() };
  });
  const service = `agent_${agent.name}`;
  const { user, pass: password } = login(service);
  const log = createLogger({ service, replica: 'bench', level: 'warn' });
  const mesh = owners.use(await connectMesh({ service, natsUrl: url, redisUrl, user, password, log }));
  await serveAgent(mesh, agent);
  const all = owners.move();
  return { client, gateway, pid, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

async function ask({ client }: Ends, name: string): Promise<void> {
  const frames = await Array.fromAsync(client.request(names.agentAsk(name), { message: text }));
  if (frames.at(-1)?.type !== 'result') throw new Error('an ask got no result');
}

async function enqueue({ gateway }: Ends): Promise<void> {
  const subject = names.agentRun(mirror.name, 's');
  const { duplicate } = await gateway.enqueue(subject, { message: text }, { messageId: crypto.randomUUID() });
  if (duplicate) throw new Error('a run was taken for a repeated one');
}

const cases: readonly Case[] = [1, 64].flatMap((inFlight) => [
  {
    name: 'ask of an agent (2 events in Redis)',
    inFlight,
    count: inFlight === 1 ? 200 : 1_000,
    once: (ends: Ends) => ask(ends, agent.name),
  },
  {
    name: 'request and answer alone',
    inFlight,
    count: inFlight === 1 ? 500 : 3_000,
    once: (ends: Ends) => ask(ends, mirror.name),
  },
  { name: 'enqueue', inFlight, count: inFlight === 1 ? 500 : 3_000, once: enqueue },
]);

/** Runs a case once and adds its cost. */
async function measure({ once, count, inFlight }: Case, ends: Ends, sum: Cost): Promise<void> {
  const serverBefore = cpuOf(ends.pid);
  const before = process.cpuUsage();
  let started = 0;
  const worker = async () => {
    while (started < count) {
      started += 1;
      await once(ends);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  const { user, system } = process.cpuUsage(before);
  sum.ends += (user + system) / 1_000;
  sum.server += cpuOf(ends.pid) - serverBefore;
  sum.repetitions += count;
}

/** Returns the CPU time that a process has used, in ms (`proc_pid_stat(5)`, fields 14 and 15). */
function cpuOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}

function rowOf({ name, inFlight }: Case, apart: Cost, together: Cost): string {
  const perOne = (cost: Cost, ms: number) => Math.round((ms / cost.repetitions) * 1_000);
  const columns = [apart, together].flatMap((cost) => [perOne(cost, cost.server), perOne(cost, cost.ends)]);
  const total = ({ server, ends, repetitions }: Cost) => (server + ends) / repetitions;
  const ratio = (total(apart) / total(together)).toFixed(2);
  return `| ${[name, inFlight, ...columns].join(' | ')} | ${ratio} × |`;
}

async function main(): Promise<void> {
  await using redis = await startRedis({ appendOnly: true });
  await using apart = await openEnds(redis.url, true);
  await using together = await openEnds(redis.url, false);
  const none = (): Cost => ({ server: 0, ends: 0, repetitions: 0 });
  const costs = cases.map((each) => ({ each, apart: none(), together: none() }));
  for (let round = 0; round <= rounds; round += 1) {
    for (const cost of costs) {
      // The first round warms up.
      await measure(cost.each, apart, round === 0 ? none() : cost.apart);
      await measure(cost.each, together, round === 0 ? none() : cost.together);
    }
    process.stderr.write(round === 0 ? 'warmed up\n' : `round ${round} of ${rounds}\n`);
  }
  console.log(
    '| CPU time in µs | in flight | server, accounts | ends | server, one account | ends | ratio |',
  );
  console.log('|---|---:|---:|---:|---:|---:|---:|');
  for (const { each, apart, together } of costs) console.log(rowOf(each, apart, together));
}

await main();

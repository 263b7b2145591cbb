/**
 * Measures the cost of NATS accounts: asks, turns and enqueued runs between services with accounts of their own,
 * against the same between services in one account without rights, and between services with accounts whose
 * users have no lists of permitted subjects. It compares the time, and CPU time, which other work of the machine
 * disturbs less. Needs Linux.
 *
 * `node_modules/.bin/node test/bench/accounts.ts [rounds [processes [cases [control]]]]`, with the beginning of the names
 * of the cases, all by default. With `control`, a second mesh in one account stands in the place of the accounts without
 * lists: its ratios show how far two equal meshes differ.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { App, type BaseAgent, LlmAgent } from '@agentmesh/agent';
import { type Bus, connectNats, provision } from '@agentmesh/bus';
import {
  agentManifest,
  type ConnectedMesh,
  connectMesh,
  natsAccounts,
  provisionUser,
  serveAgent,
  startRun,
} from '@agentmesh/mesh';
import { subjects } from '@agentmesh/protocol';
import { createLogger } from '@agentmesh/service';
import { startNats, startRedis } from '@agentmesh/testing';
import { cpuOf } from './cpu.ts';
import { EchoAgent } from './echo-agent.ts';
import { InstantLlm, stockPrice } from './instant-agent.ts';
import { median } from './median.ts';
import { question } from './model.ts';

/**
 * The number of rounds. Each round measures every case on each server, for less than half a second: the machine changes
 * its speed from second to second, and a ratio compares what was measured right after another.
 */
const rounds = Number(process.argv[2] ?? 20);
/** The number of processes that measure, one after the other. */
const processes = Number(process.argv[3] ?? 6);
if (processes % 3 !== 0)
  throw new Error(
    `the number of processes must be a multiple of 3, of the orders of start; it is ${processes}`,
  );
/** The beginning of the names of the cases to measure. */
const only = process.argv[4] ?? '';
const [, , , , , control = ''] = process.argv;
if (!['', 'control'].includes(control))
  throw new Error(`the fourth argument is control or nothing, and not ${control}`);
const names = subjects();
const agent = new EchoAgent({ name: 'echo_agent' });
/** The name of a service that only sends a request back, without Redis, and takes no runs. */
const mirror = new EchoAgent({ name: 'mirror' });
/** An agent that calls a tool of its own in each turn. */
const turnAgent = new LlmAgent({
  name: 'turn_agent',
  model: new InstantLlm({ model: 'instant' }),
  tools: [stockPrice],
});
const turnApp = new App({ name: 'bench_app', rootAgent: turnAgent });
const text = 'x'.repeat(200);

/** The two ends of the messages on one server. */
interface Ends extends AsyncDisposable {
  client: Bus;
  gateway: ConnectedMesh;
  /** The processes of nats-server and Redis. */
  pids: { server: number; redis: number };
}

interface Case {
  name: string;
  inFlight: number;
  /** The number of repetitions in one round. */
  count: number;
  once(ends: Ends): Promise<void>;
}

/** The time, and the CPU time of each process, in ms, for one repetition. */
interface Cost {
  time: number;
  /** nats-server. */
  server: number;
  redis: number;
  /** This process, which holds both ends. */
  ends: number;
}

type Rights = 'accounts' | 'accounts without lists' | 'one account';

/** The forms of rights that are compared, each with the last one. */
const forms: readonly [Rights, Rights, Rights] = [
  'accounts',
  control ? 'one account' : 'accounts without lists',
  'one account',
];
/** The heading of the columns of the second form. */
const secondName = control || 'no lists';

/** The lists of permitted subjects of a user, in the text of the configuration. */
const lists = /, permissions: \{\n[^\n]*\n[^\n]*\n {4}\}/g;

/** The costs of each round, by form. */
type Costs = [apart: Cost[], second: Cost[], together: Cost[]];

async function openEnds(redis: { url: string; pid: number }, rights: Rights): Promise<Ends> {
  await using owners = new AsyncDisposableStack();
  const services = [agent, mirror, turnApp].map(agentManifest);
  const withAccounts = rights !== 'one account';
  const accounts = withAccounts ? natsAccounts({ services, password: (user) => user }) : '';
  const configuration = rights === 'accounts' ? accounts : accounts.replaceAll(lists, '');
  const { url, pid } = owners.use(await startNats({ configuration }));
  const pids = { server: processOf({ pid }), redis: redis.pid };
  const login = (user: string) =>
    withAccounts ? { user, pass: user } : { user: undefined, pass: undefined };
  await provision({ url, ...login(provisionUser), agents: [agent.name, mirror.name, turnAgent.name] });
  const open = async (service: string) =>
    owners.use(await connectNats({ url, service, cards: false, ...login(service) }));
  const client = await open('client');
  const join = async (service: string) => {
    const { user, pass: password } = login(service);
    const log = createLogger({ service, replica: 'bench', level: 'warn' });
    const options = { service, natsUrl: url, redisUrl: redis.url, user, password, usesArtifacts: false, log };
    return owners.use(await connectMesh(options));
  };
  const serve = async (served: BaseAgent, app?: string) =>
    await serveAgent(await join(`agent_${served.name}`), served, {
      ...(app !== undefined && { app, maxConcurrency: 64 }),
    });
  const gateway = await join('gateway');
  const served = await open(`agent_${mirror.name}`);
  await served.serve(names.agentAsk(mirror.name), async function* (request) {
    yield { type: 'result', data: request.json() };
  });
  await serve(agent);
  await serve(turnAgent, turnApp.name);
  const all = owners.move();
  return { client, gateway, pids, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

function processOf({ pid }: { pid?: number | undefined }): number {
  if (pid === undefined) throw new Error('the server does not run as a process of this machine');
  return pid;
}

async function ask({ client }: Ends, name: string): Promise<void> {
  const frames = await Array.fromAsync(client.request(names.agentAsk(name), { message: text }));
  if (frames.at(-1)?.type !== 'result') throw new Error('an ask got no result');
}

async function enqueue({ gateway }: Ends): Promise<void> {
  const messageId = crypto.randomUUID();
  // One subject takes only so many messages.
  const subject = names.agentRun(mirror.name, messageId);
  const { duplicate } = await gateway.bus.enqueue(subject, { message: text }, { messageId });
  if (duplicate) throw new Error('a run was taken for a repeated one');
}

let turns = 0;

async function turn({ gateway }: Ends): Promise<void> {
  turns += 1;
  const user = `bench-${turns % 100}`;
  const { id } = await gateway.sessions.createSession({ appName: turnApp.name, userId: user });
  const run = await startRun(gateway, { app: turnApp.name, user, session: id, message: question });
  const events = await Array.fromAsync(run.events);
  if (events.length !== 3) throw new Error(`a turn gave ${events.length} events`);
}

const allCases: readonly Case[] = [1, 64].flatMap((inFlight) => [
  {
    name: 'ask of an agent (2 events in Redis)',
    inFlight,
    count: inFlight === 1 ? 100 : 400,
    once: (ends: Ends) => ask(ends, agent.name),
  },
  { name: 'durable turn with a tool call', inFlight, count: inFlight === 1 ? 40 : 256, once: turn },
  {
    name: 'request and answer alone',
    inFlight,
    count: inFlight === 1 ? 250 : 2_000,
    once: (ends: Ends) => ask(ends, mirror.name),
  },
  { name: 'enqueue', inFlight, count: inFlight === 1 ? 250 : 2_000, once: enqueue },
]);
const cases = allCases.filter(({ name }) => name.startsWith(only));
if (cases.length === 0)
  throw new Error(
    `no case begins with ${only}; the cases are: ${[...new Set(allCases.map(({ name }) => name))].join('; ')}`,
  );

/** Runs a case once and returns its cost. */
async function measure({ once, count, inFlight }: Case, ends: Ends): Promise<Cost> {
  const { server, redis } = ends.pids;
  const serverBefore = cpuOf(server);
  const redisBefore = cpuOf(redis);
  const before = process.cpuUsage();
  const beganAt = performance.now();
  let started = 0;
  const worker = async () => {
    while (started < count) {
      started += 1;
      await once(ends);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  const time = (performance.now() - beganAt) / count;
  const { user, system } = process.cpuUsage(before);
  return {
    time,
    server: (cpuOf(server) - serverBefore) / 1_000 / count,
    redis: (cpuOf(redis) - redisBefore) / 1_000 / count,
    ends: (user + system) / 1_000 / count,
  };
}

const cpuOfAll = ({ server, redis, ends }: Cost) => server + redis + ends;

/**
 * Returns a row of medians. A ratio is the median of the ratios of the rounds. What the server adds is its further CPU
 * time as a part of the CPU time of all processes: the other processes do the same work, but for one empty message
 * of an ask, and their CPU time differs by more than that from round to round.
 */
function rowOf({ name, inFlight }: Case, costs: Costs): string {
  const [apart, second, together] = costs;
  const microseconds = (of: Cost[], part: (cost: Cost) => number) => Math.round(median(of.map(part)) * 1_000);
  const [all, ...servers] = [
    microseconds(together, cpuOfAll),
    ...[together, apart, second].map((of) => microseconds(of, ({ server }) => server)),
  ];
  const ratios = (ratio: (cost: Cost, base: Cost) => number) =>
    [apart, second].map((of) => median(of.map((cost, round) => ratio(cost, together[round] as Cost))));
  const added = ratios((cost, base) => (cost.server - base.server) / cpuOfAll(base));
  const times = ratios((cost, base) => cost.time / base.time);
  const cpu = ratios((cost, base) => cpuOfAll(cost) / cpuOfAll(base));
  return `| ${[
    ...[name, inFlight, all, ...servers],
    ...added.map((part) => `${(part * 100).toFixed(1)} %`),
    ...[...cpu, ...times].map((ratio) => `${ratio.toFixed(2)} ×`),
  ].join(' | ')} |`;
}

/** Measures every case in this process, on servers that are started in another order for each number of the process. */
async function measureAll(number: number): Promise<Costs[]> {
  await using redis = await startRedis({ appendOnly: true });
  await using stack = new AsyncDisposableStack();
  const ends: Ends[] = [];
  for (let at = 0; at < forms.length; at += 1) {
    const which = (at + number) % forms.length;
    ends[which] = stack.use(
      await openEnds({ url: redis.url, pid: processOf(redis) }, forms[which] as Rights),
    );
  }
  const costs = cases.map((): Costs => [[], [], []]);
  for (let round = 0; round <= rounds; round += 1) {
    for (const [index, each] of cases.entries()) {
      for (let at = 0; at < ends.length; at += 1) {
        // Each round has another order, of six, so that no server always comes after the same one.
        const step = ((round >> 1) % ends.length) + (round % 2 === 0 ? at : ends.length - at);
        const which = step % ends.length;
        const cost = await measure(each, ends[which] as Ends);
        // The first round warms up.
        if (round > 0) costs[index]?.[which]?.push(cost);
      }
    }
    process.stderr.write(round === 0 ? 'warmed up\n' : `round ${round} of ${rounds}\n`);
  }
  return costs;
}

/** Measures in a process of its own: which of three equal meshes is faster differs from process to process. */
async function measureApart(number: number): Promise<Costs[]> {
  const child = fork(import.meta.filename, [String(rounds), '0', only, control, String(number)]);
  const [costs] = (await once(child, 'message')) as [Costs[]];
  return costs;
}

async function main(): Promise<void> {
  const found = cases.map((): Costs => [[], [], []]);
  for (let number = 0; number < processes; number += 1) {
    process.stderr.write(`process ${number + 1} of ${processes}\n`);
    for (const [index, costs] of (await measureApart(number)).entries())
      for (const [which, each] of costs.entries()) found[index]?.[which]?.push(...each);
  }
  const head = [
    ...['CPU time in µs', 'in flight', 'all processes', 'server', 'accounts', secondName],
    ...['added by accounts', secondName, 'CPU', secondName, 'time', secondName],
  ];
  console.log(`| ${head.join(' | ')} |`);
  console.log(`|---|${'---:|'.repeat(head.length - 1)}`);
  for (const [index, each] of cases.entries()) console.log(rowOf(each, found[index] as Costs));
}

const number = process.argv[6];
if (number === undefined) await main();
else process.send?.(await measureAll(Number(number)));

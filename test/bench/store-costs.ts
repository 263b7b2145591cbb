/**
 * Measures what each step of a turn costs Redis and the process that asks for it: the CPU time of both for one
 * request, with 64 requests in flight, beside the smallest request. Needs Linux.
 *
 * `node_modules/.bin/node test/bench/store-costs.ts [rounds]`
 */
import { createEvent, type Session } from '@agentmesh/agent';
import type { InvocationRef } from '@agentmesh/agent/internal';
import { connectRedis, connectRedisStore } from '@agentmesh/store';
import { startRedis } from '@agentmesh/testing';
import { cpuOf } from './cpu.ts';
import { median } from './median.ts';

const rounds = Number(process.argv[2] ?? 5);
if (!Number.isInteger(rounds) || rounds < 1) throw new Error('the number of rounds must be 1 or more');
const inFlight = 64;
const turns = 2_000;
const appName = 'bench_app';

await using redis = await startRedis({ appendOnly: true });
await using store = await connectRedisStore({ url: redis.url });
await using raw = await connectRedis({ url: redis.url });
const { sessions } = store;

interface Turn {
  ref: InvocationRef;
  session: Session;
}

const text = 'What is the price of GOOG?';
const user = { role: 'user', parts: [{ text }] };
const call = {
  role: 'model',
  parts: [{ functionCall: { id: 'adk-1', name: 'price', args: { ticker: 'GOOG' } } }],
};
const response = {
  ...{
    role: 'user',
    parts: [{ functionResponse: { id: 'adk-1', name: 'price', response: { price: 182.4 } } }],
  },
};
const answer = { role: 'model', parts: [{ text: 'The price of GOOG is 182.4 dollars.' }] };

const commit =
  (author: string, content: object, endsRun = false) =>
  async ({ ref, session }: Turn) => {
    const event = createEvent({ invocationId: ref.invocationId, author, content });
    const end = endsRun ? { as: { status: 'completed' as const } } : undefined;
    await sessions.appendEvent({ session, event, token: 1, ...(end && { end }) });
  };

/** The steps of a turn in their order, by name. */
const steps: [name: string, step: (turn: Turn) => Promise<unknown>][] = [
  ['look at the session', ({ ref }) => sessions.leases.look(ref)],
  ['read the session', ({ ref }) => sessions.log.readTurn(ref, {})],
  [
    'take the session',
    ({ ref }) =>
      sessions.leases.take(ref, {
        run: JSON.stringify({ agent: 'turn_agent', command: { ...ref, message: user }, headers: {} }),
        ...{ whenBusy: 'enqueue', agent: 'turn_agent', onlyNew: true, place: 1 },
        delivery: { part: 'hop:0', message: '1-1' },
        limits: { running: 8 },
      }),
  ],
  ["commit the user's message", commit('user', user)],
  ['commit a call', commit('turn_agent', call)],
  ['commit a response', commit('turn_agent', response)],
  ['commit the answer, and end the run', commit('turn_agent', answer, true)],
];

interface Cost {
  redis: number;
  own: number;
}

/** Does the work for each item, and returns its CPU time in µs for one of them. */
async function costOf<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<Cost> {
  const rest = items.values();
  const redisBefore = cpuOf(redis.pid);
  const before = process.cpuUsage();
  const worker = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  const { user: ownUser, system } = process.cpuUsage(before);
  return { redis: (cpuOf(redis.pid) - redisBefore) / items.length, own: (ownUser + system) / items.length };
}

const costs = new Map<string, Cost[]>();
const note = (name: string, cost: Cost) => costs.set(name, [...(costs.get(name) ?? []), cost]);

for (let round = 0; round <= rounds; round += 1) {
  const measured: [string, Cost][] = [];
  const numbers = Array.from({ length: turns }, (_, at) => at);
  const hmget = () => raw.run((client) => client.hmget('none', 'a', 'b', 'c'));
  measured.push(['HMGET of three fields', await costOf(numbers, hmget)]);
  const made: Turn[] = [];
  const create = async (at: number) => {
    // A user has a share of the running work.
    const session = await sessions.createSession({ appName, userId: `user-${round}-${at % 500}` });
    const { userId, id: sessionId } = session;
    made.push({
      session,
      ref: { appName, userId, sessionId, invocationId: `e-none-${crypto.randomUUID()}` },
    });
  };
  measured.push(['create the session', await costOf(numbers, create)]);
  for (const [name, step] of steps) measured.push([name, await costOf(made, step)]);
  // The first round warms up.
  if (round > 0) for (const [name, cost] of measured) note(name, cost);
}

console.log('| step | CPU of Redis (µs) | CPU of the process (µs) |\n|---|---:|---:|');
const total: Cost = { redis: 0, own: 0 };
for (const [name, all] of costs) {
  const [ofRedis, own] = [median(all.map((cost) => cost.redis)), median(all.map((cost) => cost.own))];
  console.log(`| ${name} | ${ofRedis.toFixed(0)} | ${own.toFixed(0)} |`);
  if (name.startsWith('HMGET')) continue;
  total.redis += ofRedis;
  total.own += own;
}
console.log(`| all steps | ${total.redis.toFixed(0)} | ${total.own.toFixed(0)} |`);

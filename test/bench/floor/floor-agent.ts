/**
 * The agent and the tool of the floor: the messages and commits of a durable turn with one tool call, of an ask, and of
 * steps with a call of a tool, by the client libraries alone. It shows what the machine can do with that many steps; it keeps none of the promises.
 */
import { subjects } from '@agentmesh/protocol';
import { connect, headers, type Msg } from '@nats-io/transport-node';
import { Redis } from 'ioredis';
import { floorAgent } from './floor.ts';
import { begin, commit, end } from './scripts.ts';

type Call = (...args: (string | number)[]) => Promise<number>;

const [natsUrl = '', redisUrl = ''] = process.argv.slice(2);
const nats = await connect({ servers: natsUrl, noAsyncTraces: true });
const redis = new Redis(redisUrl);
const script = (name: string, lua: string): Call => {
  redis.defineCommand(name, { numberOfKeys: 3, lua });
  return (Reflect.get(redis, name) as Call).bind(redis);
};
const calls = { begin: script('begin', begin), commit: script('commit', commit), end: script('finish', end) };

const slots = 64;
const inbox = `_INBOX.floor.${process.pid}`;
const names = subjects();
const next = `$JS.API.CONSUMER.MSG.NEXT.${names.workStream('run')}.${names.workConsumer(floorAgent)}`;
const pull = (batch: number) =>
  nats.publish(next, JSON.stringify({ batch, expires: 30e9 }), { reply: inbox });

function eventOf(invocation: string, number: number): string {
  return JSON.stringify({
    id: `${invocation}/${number}`,
    invocationId: invocation,
    timestamp: Date.now(),
    author: 'floor_agent',
    content: { role: 'model', parts: [{ text: 'x'.repeat(250) }] },
  });
}

function publish(invocation: string, data: string, seq?: number): void {
  const all = headers();
  if (seq !== undefined) all.set('Mesh-Seq', String(seq));
  nats.publish(`floor.invocation.${invocation}`, data, { headers: all });
}

/** Does the steps of one invocation with this number of events, the first of which is the message. */
async function invoke(invocation: string, session: string, events: number): Promise<void> {
  const keys = [`f:{${session}}:s`, `f:{${session}}:i:${invocation}`, `f:{${session}}:e`];
  for (let number = 0; number < events; number += 1) {
    const event = eventOf(invocation, number);
    const id = `${invocation}/${number}`;
    const seq =
      number === 0
        ? await calls.begin(...keys, invocation, id, event)
        : await calls.commit(...keys, id, event, Date.now());
    publish(invocation, event, seq);
  }
  await calls.end(...keys, '{"status":"completed"}');
}

async function run(msg: Msg): Promise<void> {
  const { invocation, session } = msg.json<{ invocation: string; session: string }>();
  await invoke(invocation, session, 4);
  publish(invocation, '{"status":"completed"}');
  if (msg.reply) await nats.request(msg.reply, '+ACK', { timeout: 5_000 });
}

async function answer(msg: Msg): Promise<void> {
  const { message } = msg.json<{ message: string }>();
  const invocation = crypto.randomUUID();
  await invoke(invocation, crypto.randomUUID(), 2);
  msg.respond(JSON.stringify({ text: message, invocationId: invocation }));
  publish(invocation, '{"status":"completed"}');
}

/** Does steps with a call of a tool each: a commit, a call whose result is kept, and a commit. */
async function takeSteps(msg: Msg): Promise<void> {
  const count = msg.json<number>();
  const [invocation, session] = [crypto.randomUUID(), crypto.randomUUID()];
  const keys = [`f:{${session}}:s`, `f:{${session}}:i:${invocation}`, `f:{${session}}:e`];
  const commitNext = async (number: number) => {
    const [id, event] = [`${invocation}/${number}`, eventOf(invocation, number)];
    const write = number === 0 ? calls.begin(...keys, invocation, id, event) : undefined;
    publish(invocation, event, await (write ?? calls.commit(...keys, id, event, Date.now())));
  };
  await commitNext(0);
  for (let step = 1; step <= count; step += 1) {
    await commitNext(2 * step - 1);
    const call = JSON.stringify({ call: `${invocation}/${step}`, args: { ticker: 'GOOG' } });
    await nats.request('floor.tool', call, { timeout: 5_000 });
    await commitNext(2 * step);
  }
  msg.respond();
}

/** Takes a call, keeps its result, and answers, as a tool of another process does. */
async function callTool(msg: Msg): Promise<void> {
  const { call } = msg.json<{ call: string }>();
  const result = JSON.stringify({ price: 182.4, text: 'x'.repeat(100) });
  if ((await redis.set(`f:call:${call}`, 'taken', 'PX', 60_000, 'NX')) === null)
    throw new Error('called twice');
  await redis.set(`f:call:${call}`, result, 'PX', 60_000);
  msg.respond(result);
}

nats.subscribe(inbox, {
  callback(_error, msg) {
    // A status says that a request for items is over: only the items that it still wanted are requested again. With
    // more, the requests multiply with each pause, until the server refuses them at once.
    if (msg.headers?.code) pull(Number(msg.headers.get('Nats-Pending-Messages')) || 1);
    else void run(msg).finally(() => pull(1));
  },
});
nats.subscribe('floor.ask', { queue: 'q', callback: (_error, msg) => void answer(msg) });
nats.subscribe('floor.steps', { callback: (_error, msg) => void takeSteps(msg) });
nats.subscribe('floor.tool', { callback: (_error, msg) => void callTool(msg) });
pull(slots);
await nats.flush();
console.log('"started"');

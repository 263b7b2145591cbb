/**
 * The agent of the floor: the messages and commits of a durable turn with one tool call, and of an ask, by the
 * client libraries alone. It shows what the machine can do with that many steps; it keeps none of the promises.
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

nats.subscribe(inbox, {
  callback(_error, msg) {
    // A status says that a request for items is over.
    if (msg.headers?.code) pull(slots);
    else void run(msg).finally(() => pull(1));
  },
});
nats.subscribe('floor.ask', { queue: 'q', callback: (_error, msg) => void answer(msg) });
pull(slots);
await nats.flush();
console.log('"started"');

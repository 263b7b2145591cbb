import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { header, subjects } from '@agentmesh/protocol';
import { type Server, startNats, until } from '@agentmesh/testing';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Bus } from '../../bus/bus.ts';
import { connectNats } from '../connect-nats.ts';
import { provision } from './provision.ts';
import { type GhostVerdict, openWorkStreams, type WorkStreams } from './work-streams.ts';

const names = subjects();
const stream = names.workStream('run');
let nats: Server;
let dataDir: string;
let done: Map<number, number>;
let stack: AsyncDisposableStack;

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'mesh-streams-'));
  nats = await startNats({ dataDir });
  await provision({ url: nats.url, agents: ['one', 'two'], ackWaitMs: 300 });
  done = new Map();
  stack = new AsyncDisposableStack();
});
afterEach(async () => {
  await stack.disposeAsync();
  await nats.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const bus = async (): Promise<Bus> =>
  stack.use(await connectNats({ url: nats.url, service: 'test', cards: false }));
const streams = async (): Promise<WorkStreams> => stack.use(await openWorkStreams({ url: nats.url }));

async function send(from: Bus, agent: string, numbers: readonly number[]): Promise<void> {
  for (const n of numbers) await from.enqueue(names.agentRun(agent, 's'), n, { messageId: `${agent}:${n}` });
}

/** Works on the runs of an agent. `hold` keeps an item at work. */
function work(on: Bus, agent: string, hold: (n: number) => Promise<void> = async () => {}) {
  return on.consumeRuns(
    agent,
    async (item) => {
      const n = item.json() as number;
      await hold(n);
      done.set(n, (done.get(n) ?? 0) + 1);
      return { done: true };
    },
    { maxConcurrency: 4 },
  );
}

async function stored(): Promise<number> {
  const connection = await connect({ servers: nats.url });
  try {
    return (await (await jetstreamManager(connection)).streams.info(stream)).state.messages;
  } finally {
    await connection.close();
  }
}

/** Reads the number in a stored message. */
async function numberOf(seq: number): Promise<number> {
  const connection = await connect({ servers: nats.url });
  try {
    const message = await (await jetstreamManager(connection)).streams.getMessage(stream, { seq });
    return message?.json<number>() ?? expect.fail();
  } finally {
    await connection.close();
  }
}

async function restart(between: () => void): Promise<void> {
  const { port } = nats;
  await nats.stop();
  between();
  nats = await startNats({ dataDir, port });
}

/**
 * Restarts the server, does the work, and restarts the server with the older content of a folder of the stream:
 * a kill may leave the disk so.
 */
async function rollBack(folder: string, doWork: () => Promise<void>): Promise<void> {
  const copy = join(dataDir, 'copy');
  const names = readdirSync(dataDir, { recursive: true, encoding: 'utf8' });
  const place = join(dataDir, names.find((name) => name.endsWith(`${stream}/${folder}`)) ?? expect.fail());
  await restart(() => cpSync(place, copy, { recursive: true }));
  await doWork();
  await restart(() => {
    rmSync(place, { recursive: true });
    cpSync(copy, place, { recursive: true });
  });
}

/**
 * Waits until the server has written that a consumer has all acknowledgements up to a number. A server that is stopped
 * right after an acknowledgement may forget it.
 */
async function untilWritten(consumer: string, floor: number): Promise<void> {
  const names = readdirSync(dataDir, { recursive: true, encoding: 'utf8' });
  const file = names.find((name) => name.endsWith(`${stream}/obs/${consumer}/o.dat`)) ?? expect.fail();
  // Behind two bytes for the format: the acknowledged number of the consumer, and that of the stream.
  const written = () => varints(readFileSync(join(dataDir, file)).subarray(2))[1];
  await until(() => written() === floor, { what: 'the acknowledgements on disk', timeoutMs: 20_000 });
}

/** Reads two numbers as Go's encoding/binary writes them. */
function varints(bytes: Uint8Array): number[] {
  const numbers = [0, 0];
  let at = 0;
  for (const n of numbers.keys())
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++] ?? 0;
      numbers[n] = (numbers[n] ?? 0) + (byte % 128) * scale;
      if (byte < 128) break;
    }
  return numbers;
}

it('removes acknowledged messages that the server keeps, and nothing else', async () => {
  await send(await bus(), 'one', [1, 2, 3, 4, 5]);
  const worker = await bus();
  await rollBack('msgs', async () => {
    await work(worker, 'one');
    await until(async () => (await stored()) === 0, { what: 'the work' });
    await untilWritten('one', 5);
  });
  await send(await bus(), 'two', [6, 7]);
  // A replica of the agent does not take them for runs that are on their way.
  const earlier = await Array.fromAsync(worker.earlierRuns('s', 99));
  expect(earlier.map(({ place }) => place)).toEqual([6, 7]);
  const operator = await streams();
  const [one, two] = await operator.list();
  expect(two).toMatchObject({ consumer: 'two', waiting: 2, ghosts: 0 });
  const doneBefore = Object.fromEntries(done);
  const [unclear] = await operator.sweep(async () => 'unclear');
  expect(unclear).toMatchObject({ removed: 0, requeued: 0, unclear: one?.ghosts });
  expect(await stored()).toBe(2 + (one?.ghosts ?? 0));
  const seen: unknown[] = [];
  const [swept] = await operator.sweep(async (ghost) => {
    seen.push(ghost);
    return 'removed';
  });
  expect(swept).toMatchObject({ kind: 'run', removed: one?.ghosts, requeued: 0, unclear: 0, phantoms: 0 });
  expect(seen).toHaveLength(one?.ghosts ?? 0);
  for (const ghost of seen)
    expect(ghost).toMatchObject({
      kind: 'run',
      subject: names.agentRun('one', 's'),
      ageMs: expect.any(Number),
    });
  expect(await stored()).toBe(2);
  await work(worker, 'two');
  await until(() => done.size === 7, { what: 'the work of the other agent' });
  expect(Object.fromEntries(done)).toEqual({ ...doneBefore, 6: 1, 7: 1 });
}, 60_000);

it('drops the acknowledgements that the server expects of messages that are gone', async () => {
  const sender = await bus();
  await send(sender, 'two', [1]);
  const worker = await bus();
  const { promise: hold, resolve: release } = Promise.withResolvers<void>();
  await work(worker, 'one', () => hold);
  await send(sender, 'one', [2, 3]);
  const operator = await streams();
  const pending = async () => (await operator.list()).map(({ ackPending }) => ackPending);
  await until(async () => (await pending())[0] === 2, { what: 'the deliveries' });
  await rollBack('obs', async () => {
    release();
    await until(async () => (await stored()) === 1, { what: 'the work' });
  });
  const { promise: holdAgain, resolve: releaseAgain } = Promise.withResolvers<void>();
  await work(worker, 'two', () => holdAgain);
  await until(async () => (await pending())[1] === 1, { what: 'the delivery to the other agent' });
  const phantoms = (await pending())[0];
  const swept = await operator.sweep(async () => 'unclear');
  expect(swept[0]).toMatchObject({ consumer: 'one', removed: 0, phantoms });
  expect(swept[1]).toMatchObject({ consumer: 'two', removed: 0, phantoms: 0 });
  expect(await pending()).toEqual([0, 1, 0, 0]);
  expect(await stored()).toBe(1);
  releaseAgain();
  await until(async () => (await stored()) === 0, { what: 'the work of the other agent' });
  expect(Object.fromEntries(done)).toEqual({ 1: 1, 2: 1, 3: 1 });
}, 60_000);

it('puts messages into the queue again that the server takes for acknowledged ones', async () => {
  const sender = await bus();
  const worker = await bus();
  const early = Array.from({ length: 1_200 }, (_, n) => n + 1);
  await rollBack('msgs', async () => {
    await work(worker, 'one');
    await Promise.all(early.map((n) => send(sender, 'one', [n])));
    await until(() => done.size === early.length, { what: 'the work', timeoutMs: 20_000 });
    await untilWritten('one', early.length);
  });
  // The numbers of the stream begin anew; the consumer has acknowledged the numbers up to 1,200.
  await send(sender, 'one', [1_201, 1_202]);
  const operator = await streams();
  // Services go on meanwhile.
  const sending = send(sender, 'one', [1_203, 1_204, 1_205]);
  await operator.sweep(async () => 'requeued');
  await sending;
  await until(() => done.size === 1_205, { what: 'the work of the stranded messages', timeoutMs: 20_000 });
  await until(async () => (await stored()) === 0, { what: 'the acknowledgements' });
  // Of the early ones, some may have been delivered again on a busy machine.
  expect([1_201, 1_202, 1_203, 1_204, 1_205].map((n) => done.get(n))).toEqual([1, 1, 1, 1, 1]);
  expect(await operator.sweep(async () => 'unclear')).toMatchObject([{ behind: 0 }, { behind: 0 }, {}, {}]);
}, 60_000);

it('sweeps after kills of the server under load, without a loss', async () => {
  const accepted: number[] = [];
  const workers = await Promise.all([bus(), bus()]);
  for (const worker of workers) for (const agent of ['one', 'two']) await work(worker, agent);
  const sender = await bus();
  let isOver = false;
  const sending = Promise.all(
    ['one', 'two'].map(async (agent, at) => {
      for (let n = at; !isOver; n += 2) {
        await send(sender, agent, [n]);
        accepted.push(n);
      }
    }),
  );
  for (let kills = 0; kills < 4; kills += 1) {
    const before = accepted.length;
    await until(() => accepted.length > before + 100, { what: 'some work', timeoutMs: 20_000 });
    const { port } = nats;
    await nats.kill();
    nats = await startNats({ dataDir, port });
  }
  isOver = true;
  await sending;
  const operator = await streams();
  const judge = async ({ seq }: { seq: number }): Promise<GhostVerdict> =>
    done.has(await numberOf(seq)) ? 'removed' : 'requeued';
  // NATS may begin its numbers anew, and deliver some messages only after the sweep.
  await until(
    async () => (await operator.sweep(judge)) && accepted.every((n) => done.has(n)) && (await stored()) === 0,
    { what: 'all work', timeoutMs: 60_000 },
  );
  expect((await operator.list()).every(({ ackPending, kept }) => ackPending === 0 && kept === 0)).toBe(true);
}, 120_000);

it('removes large payloads to which nothing leads, and keeps those of messages and dead letters', async () => {
  const sender = await bus();
  const large = 'x'.repeat(2 ** 21);
  const payloads = sender.objects(names.claimBucket('work'));
  await sender.enqueue(names.agentRun('one', 's'), large, { messageId: 'command' });
  await sender.enqueue(names.dead('agent', 'one'), { payload: large }, { messageId: 'letter' });
  const [command, letter] = await payloads.ids();
  // An operator's letter names the payload of the message that it buried.
  const buried = await payloads.put(bytes());
  await sender.enqueue(
    names.dead('agent', 'two'),
    { headers: { [header.claim]: `work.${buried.id}.3.${'k'.repeat(43)}` } },
    { messageId: 'buried' },
  );
  const lost = await payloads.put(bytes());
  const operator = await streams();
  expect(await operator.removeLostPayloads()).toBe(0);
  expect(await payloads.info(lost.id)).toBeDefined();
  expect(await operator.removeLostPayloads(0)).toBe(1);
  expect((await payloads.ids()).toSorted()).toEqual([command, letter, buried.id].toSorted());
  expect(await payloads.info(lost.id)).toBeUndefined();
}, 60_000);

async function* bytes() {
  yield new Uint8Array(3);
}

import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LlmAgent } from '@agentmesh/agent';
import { connectNats, openWorkStreams, provision } from '@agentmesh/bus';
import { createLogger } from '@agentmesh/service';
import { connectRedisStore } from '@agentmesh/store';
import { startNats, startRedis, until } from '@agentmesh/testing';
import { expect, it, onTestFinished } from 'vitest';
import { startRun } from '../client/start-run.ts';
import { createMesh } from '../connect/create-mesh.ts';
import { brief, ScriptedLlm, says } from '../harness.fixture.ts';
import { createCallers } from '../mesh/callers.ts';
import { serveAgent } from './serve-agent.ts';

/** The folder in which nats-server keeps the messages of the stream of runs. */
function messagesIn(dataDir: string): string {
  const found = readdirSync(dataDir, { recursive: true, encoding: 'utf8' });
  return join(dataDir, found.find((name) => name.endsWith('MESH_RUN/msgs')) ?? expect.fail());
}

/**
 * Waits until the server has written that the queue has all acknowledgements up to a number below 128: a server that is
 * stopped right after an acknowledgement may forget all that it knows of the queue.
 */
async function untilWritten(dataDir: string, floor: number): Promise<void> {
  const state = join(messagesIn(dataDir), '../obs/solo/o.dat');
  // Behind two bytes for the format: the acknowledged number of the queue, which counts redeliveries, and that of the stream.
  const written = () => readFileSync(state)[3];
  await until(() => written() === floor, { what: 'the acknowledgements on disk' });
}

it('runs that NATS takes for acknowledged ones are done, once and in order', async () => {
  await using redis = await startRedis();
  const dataDir = mkdtempSync(join(tmpdir(), 'mesh-ghosts-'));
  let nats = await startNats({ dataDir });
  onTestFinished(async () => {
    await nats.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });
  await provision({ url: nats.url, agents: ['solo'], ackWaitMs: 300 });
  await using store = await connectRedisStore({ url: redis.url });
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const log = createLogger({ service: 'test', replica: 'test', level: 'warn', destination });
  const callers = createCallers(store.callerKeys);
  const connect = async (service: string) =>
    createMesh({ bus: await connectNats({ service, url: nats.url }), ...store, callers, log });
  // Two replicas, which both find the ghosts.
  for (let n = 0; n < 2; n += 1) {
    const served = await connect('agent_solo');
    onTestFinished(() => served.bus[Symbol.asyncDispose]());
    const model = new ScriptedLlm(...Array.from({ length: 40 }, () => says('done')));
    await serveAgent(served, new LlmAgent({ name: 'solo', model }), { app: 'app', sweepMs: 200 });
  }
  const client = await connect('client');
  onTestFinished(() => client.bus[Symbol.asyncDispose]());
  const say = async (session: string, message: string) => {
    const run = await startRun(client, { app: 'app', user: 'u', session, message });
    return { events: (await Array.fromAsync(run.events)).map(brief), end: await run.end };
  };
  const restart = async (between: () => void) => {
    const { port } = nats;
    await nats.stop();
    between();
    nats = await startNats({ dataDir, port });
    await until(() => client.bus.status().connected, { what: 'the connection' });
  };

  const copy = join(dataDir, 'copy');
  await restart(() => cpSync(messagesIn(dataDir), copy, { recursive: true }));
  for (const session of ['a', 'b'])
    await store.sessions.createSession({ appName: 'app', userId: 'u', sessionId: session });
  for (let n = 0; n < 20; n += 1) await say('a', `early ${n}`);
  await untilWritten(dataDir, 20);
  // A kill may leave the disk so: the numbers of the stream begin anew, and the queue has acknowledged 20 of them.
  await restart(() => {
    const place = messagesIn(dataDir);
    rmSync(place, { recursive: true });
    cpSync(copy, place, { recursive: true });
  });
  const answers = await Promise.all([say('b', 'one'), say('b', 'two'), say('a', 'three')]);
  for (const { events, end } of answers) {
    expect(events).toEqual(['solo: done']);
    expect(end).toMatchObject({ status: 'completed' });
  }
  const session = await store.sessions.getSession({ appName: 'app', userId: 'u', sessionId: 'b' });
  expect(session?.events.map(brief)).toEqual(['user: one', 'solo: done', 'user: two', 'solo: done']);
  expect(lines.filter((line) => line.includes('sweep the streams')).length).toBeGreaterThan(0);
  await using streams = await openWorkStreams({ url: nats.url });
  // The acknowledgement of a ghost removes it where the server keeps ghosts.
  await until(async () => (await streams.list())[0]?.ghosts === 0, { what: 'the end of the ghosts' });
}, 60_000);

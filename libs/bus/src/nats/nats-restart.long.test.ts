import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { cardSchema, subjects } from '@agentmesh/protocol';
import { pauseProcess, startTcpProxy, until } from '@agentmesh/testing';
import { type Server, startNats } from '@agentmesh/testing/servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Bus } from '../bus/bus.ts';
import { echo, expectCode, resultOf } from '../conformance/expect.ts';
import { connectNats } from './connect-nats.ts';
import { provision } from './operator/provision.ts';

const names = subjects();
const someSession = { appName: 'app', userId: 'user', sessionId: 's' };

describe('a NATS server that is killed and comes back', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'mesh-bus-'));
  const buses: Bus[] = [];
  let server: Server;

  async function connect(service: string): Promise<Bus> {
    const bus = await connectNats({ url: server.url, service });
    buses.push(bus);
    return bus;
  }

  async function restart(): Promise<void> {
    const { port } = server;
    await server.kill();
    server = await startNats({ dataDir, port });
  }

  beforeAll(async () => {
    server = await startNats({ dataDir });
    await provision({ url: server.url, agents: ['worker'], ackWaitMs: 1_000 });
  });
  afterAll(async () => {
    await Promise.all(buses.map((bus) => bus[Symbol.asyncDispose]()));
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('loses no accepted run, and work continues by itself', async () => {
    const [sender, one, two] = [await connect('sender'), await connect('w'), await connect('w')];
    const total = 200;
    const finished = new Set<unknown>();
    for (const bus of [one, two]) {
      await bus.consumeRuns(
        'worker',
        async (item) => {
          finished.add(item.json());
          return { done: true };
        },
        { maxConcurrency: 4 },
      );
    }
    const sending = (async () => {
      for (let n = 0; n < total; n += 1) {
        await sender.enqueue(names.agentRun('worker', 's'), n, { messageId: `r:${n}` });
      }
    })();
    await until(() => finished.size > total / 4, { what: 'a quarter of the work' });
    await restart();
    await sending;
    await until(() => finished.size === total, { what: 'all of the work' });
  });

  it('stores and reads objects and records that are in progress during the restart', async () => {
    const bus = await connect('files');
    const objects = bus.objects(names.artifactBucket);
    const records = bus.records(names.artifactBucket);
    const bytes = randomBytes(4_000_000);
    let restarted: Promise<void> | undefined;
    const { id } = await objects.put(
      (async function* () {
        for (let at = 0; at < bytes.length; at += 65_536) {
          if (at === 65_536 * 8) restarted = restart();
          yield bytes.subarray(at, at + 65_536);
        }
      })(),
    );
    await restarted;
    const written = records.write('restart', new TextEncoder().encode('1'), 0);
    const read: Uint8Array[] = [];
    const opened = (await objects.open(id)) ?? expect.fail();
    for await (const chunk of opened.bytes) {
      read.push(chunk);
      if (read.length === 8) restarted = restart();
    }
    await restarted;
    expect(Buffer.concat(read).equals(bytes)).toBe(true);
    expect(await written).toBe(true);
    expect((await records.read('restart')).revision).toBeGreaterThan(0);
  });

  it('carries large payloads after the restart', async () => {
    const [caller, callee] = [await connect('large_caller'), await connect('large_callee')];
    const subject = names.toolCall('large');
    await callee.serve(subject, echo);
    await restart();
    const text = 'x'.repeat(3_000_000);
    // The two connections come back in any order.
    const answered = () => resultOf(caller.request(subject, text)).catch(() => undefined);
    await until(async () => (await answered()) === text, { what: 'the answer' });
  });

  it('restores subscriptions, services and the card watch', async () => {
    const [service, watcher] = [await connect('s'), await connect('c')];
    const seen: unknown[] = [];
    let gaps = 0;
    await watcher.subscribe(
      names.sessionNews(someSession, 'i', 's'),
      (message) => seen.push(message.json()),
      {
        onGap: () => {
          gaps += 1;
        },
      },
    );
    await service.serve(names.agentAsk('a'), echo);
    await service.register({ kind: 'agent', name: 'a', version: '1.0.0', description: '' }, []);
    const card = (version: string) => cardSchema.parse({ kind: 'agent', name: 'a', version });
    await service.announce(card('1.0.0'));
    await until(() => watcher.directory.get('agent', 'a')?.version === '1.0.0', { what: 'the first card' });

    const { port } = server;
    await server.kill();
    await until(() => !watcher.status().connected && !service.status().connected, {
      what: 'both to be cut off',
    });
    // Messages that are sent while the server is away wait for it.
    const published = service.publish(names.sessionNews(someSession, 'i', 's'), 'meanwhile');
    const asked = resultOf(watcher.request(names.agentAsk('a'), 'hello'));
    const announced = service.announce(card('2.0.0'));
    for (const promise of [published, asked, announced]) promise.catch(() => {});
    server = await startNats({ dataDir, port });

    await until(() => gaps > 0, { what: 'the word of the gap' });
    await published;
    await announced;
    await service.publish(names.sessionNews(someSession, 'i', 's'), 'afterwards');
    await until(() => seen.includes('afterwards'), { what: 'a message' });
    expect(await asked.catch(() => resultOf(watcher.request(names.agentAsk('a'), 'hello')))).toBe('hello');
    expect(await watcher.isServed('a')).toBe(true);
    await until(() => watcher.directory.get('agent', 'a')?.version === '2.0.0', { what: 'the second card' });
  });

  it('tells that nobody is gone until the others may have come back', async () => {
    const [service, watcher] = [await connect('tool_a'), await connect('tool_a')];
    await service.register({ kind: 'tool', name: 'a', version: '1.0.0', description: '' }, []);
    await until(() => watcher.isGone('a', 'nobody'), { what: 'the time to settle' });
    const { port } = server;
    await server.kill();
    await until(() => !watcher.status().connected);
    await expectCode(watcher.isGone('a', service.replica), 'unavailable', /away/);
    server = await startNats({ dataDir, port });
    await until(() => watcher.status().connected);
    expect(await watcher.isGone('a', 'nobody')).toBe(false);
    expect(await watcher.isGone('a', service.replica)).toBe(false);
    await until(() => watcher.isGone('a', 'nobody'), { what: 'the time to settle' });
    expect(await watcher.isGone('a', service.replica)).toBe(false);
  }, 40_000);

  it('tells that a replica is gone whose machine does not answer the pings of the server', async () => {
    await using strict = await startNats({ configuration: 'ping_interval: "1s"\nping_max: 2\n' });
    await using proxy = await startTcpProxy({ host: strict.host, port: strict.port });
    const [service, watcher] = await Promise.all(
      [`nats://${proxy.host}:${proxy.port}`, strict.url].map((url) =>
        connectNats({ url, service: 'tool_a', cards: false }),
      ),
    );
    if (!service || !watcher) throw new Error('two connections');
    await service.register({ kind: 'tool', name: 'a', version: '1.0.0', description: '' }, []);
    await until(() => watcher.isGone('a', 'nobody'), { what: 'the time to settle' });
    proxy.stall();
    // No packet says that the machine is away.
    expect(await watcher.isGone('a', service.replica)).toBe(false);
    // The server sends no ping to a connection that it has just sent a message to, such as a question of ours.
    await until(() => watcher.isGone('a', service.replica), { intervalMs: 2_500 });
    proxy.heal();
    await Promise.all([service, watcher].map((bus) => bus[Symbol.asyncDispose]()));
  }, 40_000);

  it('distinguishes a server that gives no answer from a service without a replica', async () => {
    const [service, caller] = [await connect('agent_b'), await connect('c')];
    await service.register({ kind: 'agent', name: 'b', version: '1.0.0', description: '' }, []);
    expect(await caller.isServed('b')).toBe(true);
    expect(await caller.isServed('nobody')).toBe(false);
    using paused = pauseProcess(server.pid);
    await expectCode(caller.isServed('b'), 'unavailable', /NATS gives no answer/);
    paused.resume();
    await until(() => caller.isServed('b').catch(() => false), { what: 'the answer' });
  });

  it('takes a replica that is silent for a while for one that is there', async () => {
    await using proxy = await startTcpProxy({ host: server.host, port: server.port });
    const service = await connectNats({
      url: `nats://${proxy.host}:${proxy.port}`,
      service: 'agent_busy',
      cards: false,
    });
    const caller = await connect('c');
    await service.register({ kind: 'agent', name: 'busy', version: '1.0.0', description: '' }, []);
    proxy.stall();
    const asked = caller.isServed('busy');
    await delay(1_500);
    proxy.heal();
    expect(await asked).toBe(true);
    await service[Symbol.asyncDispose]();
  });

  it('makes requests fail as unavailable after five seconds of absence', async () => {
    const bus = await connect('c');
    const { port } = server;
    await server.kill();
    await until(() => !bus.status().connected);
    const startedAt = performance.now();
    await Promise.all([
      expectCode(bus.publish('mesh.x', 1), 'unavailable', /away/),
      expectCode(bus.enqueue(names.agentRun('worker', 's'), 1, { messageId: 'x' }), 'unavailable', /away/),
      expectCode(resultOf(bus.request(names.agentAsk('a'), 1)), 'unavailable', /away|no sign of life/),
    ]);
    expect(performance.now() - startedAt).toBeLessThan(7_000);
    server = await startNats({ dataDir, port });
  });
});

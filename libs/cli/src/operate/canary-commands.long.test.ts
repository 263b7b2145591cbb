import { BaseAgent, createEvent, type InvocationContext } from '@agentmesh/agent';
import { openOrphans, openWorkStreams, provision } from '@agentmesh/bus';
import { type ConnectedMesh, connectService, serveAgent, startRun } from '@agentmesh/mesh';
import { AsyncDisposableStack, canaryQueue, versionKey } from '@agentmesh/protocol';
import { createLogger, readConfig, serviceConfig } from '@agentmesh/service';
import { startNats, startRedis, until } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jsonOf, linesOf } from '../commands.fixture.ts';

class Desk extends BaseAgent {
  protected override async *runAsyncImpl({ invocationId }: InvocationContext) {
    const content = { role: 'model', parts: [{ text: 'hello' }] };
    yield createEvent({ invocationId, author: this.name, content });
  }
}

describe('the commands for canaries', () => {
  const owners = new AsyncDisposableStack();
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const log = createLogger({ service: 'test', replica: 'test', level: 'warn', destination });
  let env: Record<string, string> = {};
  let client: ConnectedMesh;

  beforeAll(async () => {
    const nats = owners.use(await startNats());
    const redis = owners.use(await startRedis());
    env = { NATS_URL: nats.url, REDIS_URL: redis.url };
    await provision({ url: nats.url, agents: ['desk', 'idle'], storage: 'memory' });
    client = owners.use(await connectService('client', readConfig(serviceConfig, env), log));
  });
  afterAll(() => owners[Symbol.asyncDispose]());

  async function serve(version: string) {
    const mesh = owners.use(await connectService('agent_desk', readConfig(serviceConfig, env), log));
    return await serveAgent(mesh, new Desk({ name: 'desk' }), { app: 'app', version });
  }

  const command = (...words: string[]) => linesOf({ env }, words);
  const consumers = async () => {
    await using streams = await openWorkStreams({ url: env.NATS_URL ?? '' });
    return (await streams.list()).flatMap(({ kind, consumer }) => (kind === 'run' ? [consumer] : []));
  };

  /** Returns the versions that answer ten runs in new sessions. */
  async function versions(): Promise<Set<unknown>> {
    const found = Array.from({ length: 10 }, async () => {
      const { id } = await client.sessions.createSession({ appName: 'app', userId: 'u' });
      const run = await startRun(client, { app: 'app', user: 'u', session: id, message: 'hi' });
      const events = await Array.fromAsync(run.events);
      return events.at(-1)?.customMetadata?.[versionKey];
    });
    return new Set(await Promise.all(found));
  }

  it('refuse a wrong share, a wrong version, an unknown agent, and an agent whose replicas take nothing', async () => {
    await expect(command('canary', 'set', 'desk', '2.0.0', '101')).rejects.toThrow('from 0 to 100');
    await expect(command('canary', 'set', 'desk', '2', '10')).rejects.toThrow('such as 1.4.0');
    await expect(command('canary', 'set', 'dask', '2.0.0', '10')).rejects.toThrow('no queue of runs');
    await expect(command('canary', 'end', 'desk')).rejects.toThrow('has no canary');
    await expect(command('canary', 'set', 'idle', '2.0.0', '10')).rejects.toThrow('no replica of idle takes');
    expect(await consumers()).toEqual(['desk', 'idle']);
    expect(await command('canary', 'list')).toEqual(['there are none']);
  }, 40_000);

  it('give a version its share, list its figures, and end it when one version is left', async () => {
    const [old, next] = [await serve('1.0.0'), await serve('2.0.0')];
    await until(() => client.bus.directory.get('agent', 'desk') !== undefined);
    // A version that nobody serves is told: it may be misspelled.
    expect(await command('canary', 'set', 'desk', '2.0.1', '0')).toEqual([
      expect.stringMatching(/0 % of the sessions, and about as many of the asks/),
      expect.stringContaining('no replica of 2.0.1 is up'),
    ]);
    const foundByDoctor = async () => (await command('doctor')).filter((line) => /canary/.test(line));
    expect(await foundByDoctor()).toEqual([
      expect.stringContaining('2.0.1 is the canary of agent desk and gets the runs of 0 %'),
      expect.stringContaining('no replica of desk has version 2.0.1, its canary'),
      expect.stringContaining('the canary proves nothing'),
      expect.stringContaining('agentmesh canary end desk'),
    ]);
    const isMixed = async () => (await command('doctor')).join('\n').includes('desk runs in 2 versions');
    expect(await isMixed()).toBe(true);
    expect(await command('canary', 'set', 'desk', '2.0.0', '100')).toHaveLength(1);
    expect(await foundByDoctor()).toHaveLength(1);
    expect(await isMixed()).toBe(false);
    // The replicas hear of the share one by one.
    const isMoved = async () => [...(await versions())].join() === '2.0.0';
    await until(isMoved, { timeoutMs: 20_000 });
    expect(await versions()).toEqual(new Set(['2.0.0']));
    const [[listed]] = (await jsonOf({ env }, ['canary', 'list'])) as [
      { replicas: unknown[]; versions: { version: string; runs: number }[] }[],
    ];
    expect(listed).toMatchObject({ agent: 'desk', percent: 100, pinned: false, queued: 0 });
    expect(listed?.replicas).toHaveLength(2);
    expect(listed?.versions).toMatchObject([
      { version: '1.0.0', replicas: 1, failed: 0 },
      { version: '2.0.0', replicas: 1, failed: 0, runs: expect.any(Number), p95Ms: expect.any(Number) },
    ]);
    expect(await command('canary', 'list')).toEqual([
      expect.stringMatching(
        /^desk {2}2\.0\.0 gets 100 % .*1\.0\.0: 1 replicas, .*2\.0\.0: 1 replicas, \d+ runs, 0 failed, p50 \d+ ms, p95 \d+ ms$/,
      ),
    ]);
    await expect(command('canary', 'set', 'desk', '3.0.0', '10')).rejects.toThrow(
      'version 2.0.0 is the canary of desk and gets the runs of 100 % of its sessions; end it first',
    );
    await expect(command('canary', 'end', 'desk')).rejects.toThrow('1.0.0 and 2.0.0 are up');
    await old.stop();
    expect(await command('canary', 'end', 'desk')).toEqual(['desk has no canary any more']);
    expect(await consumers()).toEqual(['desk', 'idle']);
    expect(await versions()).toEqual(new Set(['2.0.0']));
    await next.stop();
    // A busy machine may warn that a look at a consumer took too long.
    expect(lines.filter((line) => JSON.parse(line).level !== 'warn')).toEqual([]);
  }, 60_000);

  it('the figures outlive the replicas of a version, and begin again with another canary', async () => {
    const first = await serve('1.0.0');
    const figures = async () => {
      const [[listed]] = (await jsonOf({ env }, ['canary', 'list'])) as [
        { versions: { version: string; replicas: number; runs: number; failed: number }[] }[],
      ];
      return listed?.versions;
    };
    await command('canary', 'set', 'desk', '2.0.0', '100');
    const second = await serve('2.0.0');
    await until(async () => [...(await versions())].join() === '2.0.0', { timeoutMs: 20_000 });
    const ofSecond = async () => (await figures())?.find(({ version }) => version === '2.0.0');
    const before = await ofSecond();
    expect(before?.runs).toBeGreaterThanOrEqual(10);
    await second.stop();
    const after = await ofSecond();
    expect(after).toMatchObject({ replicas: 0, failed: 0 });
    // The last runs before the stop may have been counted meanwhile.
    expect(after?.runs).toBeGreaterThanOrEqual(before?.runs ?? 10);
    await command('canary', 'set', 'desk', '2.0.0', '0');
    expect(await ofSecond()).toEqual(after);
    expect(await command('canary', 'list')).toEqual([
      expect.stringContaining(`2.0.0: 0 replicas, ${after?.runs} runs, 0 failed`),
    ]);
    await command('canary', 'end', 'desk');
    await command('canary', 'set', 'desk', '2.0.0', '0');
    expect(await ofSecond()).toEqual({ version: '2.0.0', replicas: 0, runs: 0, failed: 0 });
    await command('canary', 'end', 'desk');
    await first.stop();
  }, 60_000);

  it('an end waits for the runs in the queue of the canary, and nothing is left behind', async () => {
    const first = await serve('1.0.0');
    await command('canary', 'set', 'desk', '2.0.0', '50');
    await first.stop();
    // A program that did not hear of the end puts a run there while no replica is up.
    const { id } = await client.sessions.createSession({ appName: 'app', userId: 'u' });
    const run = { invocationId: 'late', app: 'app', user: 'u', session: id, message: 'hi' };
    await client.bus.enqueue(client.subjects.agentRun(canaryQueue('desk'), id), run, { messageId: 'late' });
    const ending = command('canary', 'end', 'desk');
    await until(() => client.bus.directory.canary('desk')?.ending === true);
    const second = await serve('1.0.0');
    expect(await ending).toEqual(['desk has no canary any more']);
    const record = await client.sessions.invocations.get({
      ...run,
      appName: 'app',
      userId: 'u',
      sessionId: id,
    });
    expect(record.status).toBe('completed');
    await using orphans = await openOrphans({ url: env.NATS_URL ?? '' });
    expect(await orphans.list()).toEqual([]);
    await second.stop();
  }, 60_000);
});

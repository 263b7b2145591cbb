import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectNats, provision } from '@agentmesh/bus';
import { subjects } from '@agentmesh/protocol';
import { provisionRedis } from '@agentmesh/store';
import { startNats, startRedis } from '@agentmesh/testing/servers';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { jsonOf, linesOf, type Place } from '../commands.fixture.ts';
import { writeContextFile } from '../context/context-file.ts';
import type { Finding } from './finding.ts';

type Env = Record<string, string>;

/** Starts healthy servers, with changes. */
async function startServers({
  redis: redisOptions,
  nats: natsOptions,
}: {
  redis?: Parameters<typeof startRedis>[0];
  nats?: Parameters<typeof startNats>[0];
} = {}) {
  const redis = await startRedis({ appendOnly: true, ...redisOptions });
  const nats = await startNats(natsOptions);
  onTestFinished(async () => {
    await Promise.all([redis.stop(), nats.stop()]);
  });
  return { NATS_URL: nats.url, REDIS_URL: redis.url };
}

async function startMesh(
  options: Parameters<typeof startServers>[0] = {},
  storage: 'file' | 'memory' = 'file',
) {
  const env = await startServers(options);
  await provisionRedis({ url: env.REDIS_URL });
  await provision({ url: env.NATS_URL, agents: [], storage });
  return env;
}

async function findingsOf(place: Place): Promise<Finding[]> {
  const [report] = (await jsonOf(place, ['doctor'])) as [{ findings: Finding[] }];
  return report.findings;
}

/** Returns the names of the checks that found something. */
const checksOf = async (env: Env) => (await findingsOf({ env })).map(({ check }) => check);

describe('agentmesh doctor', () => {
  afterEach(() => vi.useRealTimers());

  it('finds nothing in a healthy mesh', async () => {
    const env = await startMesh();
    const lines = await linesOf({ env }, ['doctor']);
    expect(lines).toEqual([
      'the mesh is that of the environment',
      expect.stringMatching(/^Redis \d/),
      expect.stringMatching(/^NATS 2\./),
      'no problem was found',
    ]);
  });

  it('says what a problem may cost, and how to mend it', async () => {
    const env = await startMesh({ redis: { appendOnly: false } });
    const lines = await linesOf({ env }, ['doctor']);
    expect(lines.slice(3)).toEqual([
      expect.stringContaining('✗ redis-persistence: Redis does not write its data to a file'),
      expect.stringMatching(/^ {4}it may cost: a restart of Redis loses sessions/),
      expect.stringMatching(/^ {4}to mend it: {2}redis-cli CONFIG SET appendonly yes/),
      'problems: 1',
    ]);
  });

  it('finds a Redis that drops keys, and one whose memory is nearly full', async () => {
    const env = await startServers({
      redis: { extraArgs: ['--maxmemory', '1100kb', '--maxmemory-policy', 'allkeys-lru'] },
    });
    expect(await checksOf(env)).toEqual(expect.arrayContaining(['redis-eviction', 'redis-memory']));
  });

  it('finds servers without the provisioning step', async () => {
    const env = await startServers();
    expect(await checksOf(env)).toEqual(['redis-functions', 'streams']);
  });

  it('finds a NATS without JetStream', async () => {
    const env = await startServers({ nats: { jetstream: false } });
    await provisionRedis({ url: env.REDIS_URL });
    expect(await checksOf(env)).toEqual(['jetstream']);
  });

  it('finds streams in memory', async () => {
    const [finding, ...more] = await findingsOf({ env: await startMesh({}, 'memory') });
    expect(more).toEqual([]);
    expect(finding).toMatchObject({ check: 'stream-storage', level: 'warning' });
    expect(finding?.problem).toContain('MESH_RUN');
  });

  it('finds misspelled and wrong settings, and checks the rest', async () => {
    const env = await startMesh({ redis: { appendOnly: false } });
    const findings = await findingsOf({ env: { ...env, MESH_NAMESPCE: 'x', MESH_GRACE_MS: 'soon' } });
    expect(findings.map(({ problem }) => problem)).toEqual([
      expect.stringMatching(/^MESH_GRACE_MS must be a whole number/),
      'MESH_NAMESPCE is not known; did you mean MESH_NAMESPACE?',
      expect.stringContaining('appendonly no'),
    ]);
  });

  it('finds wrong logins and absent servers', async () => {
    const env = await startServers({
      nats: { configuration: 'authorization { user: a, password: b }\n' },
      redis: { password: 'secret' },
    });
    const wrong = { ...env, REDIS_URL: env.REDIS_URL.replace('secret', 'wrong') };
    expect(await checksOf({ ...wrong, MESH_NATS_USER: 'a', MESH_NATS_PASSWORD: 'c' })).toEqual([
      'redis-connection',
      'nats-login',
    ]);
    const absent = { NATS_URL: 'nats://127.0.0.1:1', REDIS_URL: 'redis://127.0.0.1:1' };
    expect(await checksOf(absent)).toEqual(['redis-connection', 'nats-connection']);
  });

  it('finds a clock that is wrong', async () => {
    const env = await startMesh();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 60_000 });
    const [finding] = await findingsOf({ env });
    expect(finding).toMatchObject({ check: 'clock', problem: expect.stringContaining('by 60 s') });
  });

  it('finds services without replicas and queues, orphans and dead letters', async () => {
    const env = await startMesh();
    await using bus = await connectNats({ url: env.NATS_URL, service: 'agent_lost' });
    const names = subjects();
    await bus.announce({ kind: 'agent', name: 'lost' });
    await bus.enqueue(names.agentRun('nobody', 's'), {}, { messageId: 'orphan' });
    const letter = {
      ...{
        subject: names.agentRun('lost', 's'),
        payload: {},
        headers: {},
        attempts: 1,
        replica: 'r',
        time: 1,
      },
      error: { code: 'internal', message: 'it failed' },
    };
    await bus.enqueue(names.dead('agent', 'lost'), letter, { messageId: 'dead' });
    const card = { kind: 'tool', name: 'clock', declaration: { name: 'clock' }, longRuning: true };
    await bus.records(names.cardBucket).write('tool.clock', Buffer.from(JSON.stringify(card)), 0);
    const findings = await findingsOf({ env });
    expect(findings.map(({ check }) => check)).toEqual([
      ...['replicas', 'queue', 'cards', 'dead-letters', 'orphans'],
    ]);
    expect(findings[2]?.problem).toContain('did you mean longRunning?');
  });

  it('finds a context file that others may read', async () => {
    const env = await startMesh();
    const folder = await mkdtemp(join(tmpdir(), 'agentmesh-doctor-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, '.agentmesh/context.json');
    await writeContextFile(file, { variables: env });
    const place = { env: {}, cwd: folder };
    expect(await findingsOf(place)).toEqual([]);
    await chmod(file, 0o644);
    expect(await findingsOf(place)).toMatchObject([
      { check: 'context-file', remedy: expect.stringContaining(file) },
    ]);
  });
});

import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Bus, connectNats, openCards, openQueues, provision } from '@agentmesh/bus';
import type { ServiceManifest } from '@agentmesh/mesh';
import { initAccounts } from '@agentmesh/mesh/accounts';
import { subjects } from '@agentmesh/protocol';
import { connectRedis, provisionRedis } from '@agentmesh/store';
import { until } from '@agentmesh/testing';
import { startNats, startRedis } from '@agentmesh/testing/servers';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { jsonOf, linesOf, type Place, runProgram } from '../commands.fixture.ts';
import { writeContextFile } from '../context/context-file.ts';
import { canMount, mountDisk } from './disk.fixture.ts';
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
  { storage = 'file', agents = [] }: { storage?: 'file' | 'memory'; agents?: string[] } = {},
) {
  const env = await startServers(options);
  await provisionRedis({ url: env.REDIS_URL });
  await provision({ url: env.NATS_URL, agents, storage });
  return env;
}

async function findingsOf(place: Place): Promise<Finding[]> {
  const [report] = (await jsonOf(place, ['doctor'])) as [{ findings: Finding[] }];
  return report.findings;
}

/** Returns the names of the checks that found something. */
const checksOf = async (env: Env) => (await findingsOf({ env })).map(({ check }) => check);

/** Publishes until NATS takes no more. */
async function fill(bus: Bus): Promise<void> {
  for (let n = 0; n < 100; n += 1)
    await bus.enqueue(subjects().agentRun('lost', 's'), 'x'.repeat(100_000), { messageId: `m${n}` });
}

describe('agentmesh doctor', () => {
  afterEach(() => vi.useRealTimers());

  it('finds nothing in a healthy mesh', async () => {
    const env = await startMesh();
    const lines = await linesOf({ env }, ['doctor']);
    expect(lines).toEqual([
      'the settings come from the environment',
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
    const [finding, ...more] = await findingsOf({ env: await startMesh({}, { storage: 'memory' }) });
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

  it('finds a Redis that cannot write to its disk, and commands do not ask whether the mesh runs', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'agentmesh-disk-'));
    const env = await startMesh({ redis: { dataDir, extraArgs: ['--save', '3600 1'] } });
    const redis = await connectRedis({ url: env.REDIS_URL });
    onTestFinished(() => redis[Symbol.asyncDispose]());
    await rm(dataDir, { recursive: true });
    await redis.run((client) => client.call('BGSAVE'));
    const [finding, ...more] = await until(async () => {
      const found = await findingsOf({ env });
      return found.length > 0 && found;
    });
    expect(more).toEqual([]);
    expect(finding).toMatchObject({
      check: 'redis-disk',
      level: 'error',
      problem: 'Redis could not write to its disk at its last try (the snapshot)',
      remedy: expect.stringContaining('free the disk'),
    });
    const words = ['user', 'delete', 'app', 'ann', '--yes'];
    expect(await runProgram(words, env)).toMatchObject({
      exitCode: 1,
      stderr: 'redis cannot write to its disk; repair the disk\n',
    });
    const { stderr } = await runProgram([...words, '--json'], env);
    expect(stderr.split('\n').length, stderr).toBe(2);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'unavailable' } });
  });

  it('finds a JetStream without space, and publishers learn it', async () => {
    const env = await startMesh({ nats: { maxFileBytes: 2_000_000 } }, { agents: ['lost'] });
    await using bus = await connectNats({ url: env.NATS_URL, service: 'agent_lost', cards: false });
    await expect(fill(bus)).rejects.toMatchObject({
      code: 'resource_exhausted',
      message: expect.stringContaining('JetStream has no space left: free the disk of nats-server'),
    });
  });

  it.skipIf(!canMount())(
    'finds a NATS whose disk is full',
    async () => {
      using disk = mountDisk(8);
      const env = await startMesh({ nats: { dataDir: disk.path } }, { agents: ['lost'] });
      await using bus = await connectNats({ url: env.NATS_URL, service: 'agent_lost', cards: false });
      disk.fill();
      // NATS says it, or stops its JetStream without a word.
      await expect(fill(bus)).rejects.toMatchObject({
        message: expect.stringMatching(/free the disk|disk is full/),
      });
      expect(await findingsOf({ env })).toMatchObject([
        {
          check: expect.stringMatching(/^(nats-disk|jetstream-silent)$/),
          remedy: expect.stringContaining('free the disk'),
        },
      ]);
      const { exitCode, stderr } = await runProgram(['cards', 'remove', 'agent', 'lost'], env);
      expect(exitCode).toBe(1);
      expect(stderr).not.toContain('is the mesh running');
    },
    60_000,
  );

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
    await using queues = await openQueues({ url: env.NATS_URL });
    await queues.add({ kind: 'run', name: 'nobody' });
    await bus.enqueue(names.agentRun('nobody', 's'), {}, { messageId: 'orphan' });
    await queues.remove({ kind: 'run', name: 'nobody' });
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

  it('finds names that agents use and that no service has', async () => {
    const env = await startMesh();
    const uses = { transfers: ['support'], asks: ['clerk'], calls: ['refnd'] };
    const desk: ServiceManifest = { kind: 'agent', name: 'desk', ...uses };
    const refund: ServiceManifest = { kind: 'tool', name: 'refund', transfers: [], asks: [], calls: [] };
    await using cards = await openCards({ url: env.NATS_URL });
    await cards.putRecord({ name: 'desk', subAgents: ['support', 'billing'] });
    await using bus = await connectNats({ url: env.NATS_URL, service: 'agent_billing' });
    await bus.announce({ kind: 'agent', name: 'billing' });
    const usesOf = async (variables: Env) =>
      (await findingsOf({ env: variables })).flatMap(({ check, problem }) =>
        check === 'uses' ? problem : [],
      );
    const noSupport =
      'desk uses agent support, which none of these services is; calls of it fail until one is started';
    // NATS knows transfers alone.
    expect(await usesOf(env)).toEqual([noSupport]);
    const keys = await mkdtemp(join(tmpdir(), 'agentmesh-keys-'));
    onTestFinished(() => rm(keys, { recursive: true }));
    const folder = await initAccounts(keys);
    await folder.mesh('mesh').writeServices([desk, refund]);
    expect(await usesOf({ ...env, MESH_KEYS: keys })).toEqual([
      noSupport,
      noSupport.replace('support', 'clerk'),
      'desk uses tool refnd, which none of these services is; did you mean refund?',
    ]);
  });

  it('finds replicas of different versions', async () => {
    const env = await startMesh();
    const register = async (version: string) => {
      const bus = await connectNats({ url: env.NATS_URL, service: 'tool_clock', cards: false });
      onTestFinished(() => bus[Symbol.asyncDispose]());
      return await bus.register({ name: 'clock', version, description: 'Tells the time.', kind: 'tool' }, []);
    };
    await using bus = await connectNats({ url: env.NATS_URL, service: 'tool_clock' });
    await bus.announce({ kind: 'tool', name: 'clock', declaration: { name: 'clock' } });
    await register('1.0.0');
    await register('1.0.0');
    expect(await checksOf(env)).toEqual([]);
    await register('1.1.0');
    const findings = await findingsOf({ env });
    expect(findings.map(({ check, problem }) => [check, problem])).toEqual([
      ['versions', 'tool clock runs in 2 versions: 1.0.0 (2), 1.1.0 (1)'],
    ]);
  });

  it('finds users of Redis whose commands and logins are refused, and not its own', async () => {
    const env = await startMesh();
    const redis = await connectRedis({ url: env.REDIS_URL });
    onTestFinished(() => redis[Symbol.asyncDispose]());
    const run = (...words: string[]) => redis.run((client) => client.call(words[0] ?? '', words.slice(1)));
    await run('ACL', 'SETUSER', 'agent_desk', 'on', '>secret', '~am:desk', '+@all', '-config');
    await run('ACL', 'SETUSER', 'doctor', 'on', '>secret', '~*', '+@all', '-config');
    const as = (user: string, password = 'secret') =>
      connectRedis({ url: env.REDIS_URL.replace('redis://', `redis://${user}:${password}@`) });
    await using desk = await as('agent_desk');
    const refused = { code: 'permission_denied' };
    await expect(desk.run((client) => client.call('GET', ['am:other']))).rejects.toMatchObject(refused);
    await expect(desk.run((client) => client.call('CONFIG', ['GET', 'dir']))).rejects.toMatchObject(refused);
    await expect(as('agent_clerk')).rejects.toMatchObject({ code: 'unauthenticated' });
    const asDoctor = { ...env, REDIS_URL: env.REDIS_URL.replace('redis://', 'redis://doctor:secret@') };
    for (const each of [env, asDoctor]) {
      const [finding] = await findingsOf({ env: each });
      expect(finding).toMatchObject({ check: 'redis-rights', level: 'error' });
      expect(
        finding?.problem
          .replace(/^[^:]*: /, '')
          .split('; ')
          .toSorted(),
      ).toEqual([
        'the command config|get of agent_desk',
        'the key am:other of agent_desk',
        'the login of agent_clerk',
      ]);
    }
    await run('ACL', 'LOG', 'RESET');
    expect(await checksOf(env)).toEqual([]);
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

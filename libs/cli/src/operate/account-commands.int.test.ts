import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectNats, openCards, provision } from '@agentmesh/bus';
import { cardSchema, subjects } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { startNats } from '@agentmesh/testing/servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jsonOf, linesOf } from '../commands.fixture.ts';

const owners = new AsyncDisposableStack();
const names = subjects();
let place: string;
let keys: string;
let url = 'nats://127.0.0.1:1';

beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), 'agentmesh-cli-'));
  owners.defer(() => rm(place, { recursive: true }));
  keys = join(place, 'keys');
});
afterAll(() => owners.disposeAsync());

const command = (...words: string[]) => linesOf({ env: { NATS_URL: url } }, words);

async function definitions(name: string, services: object[]): Promise<string> {
  const file = join(place, `${name}.json`);
  await writeFile(file, JSON.stringify(services));
  return file;
}

const creds = (service: string) => join(keys, 'mesh', `${service}.creds`);
const open = (service: string) =>
  connectNats({ url, service, credsFile: creds(service), cards: false, connectTimeoutMs: 2_000 });

describe('the commands for accounts', () => {
  it('make the keys of an operator, which only their owner may read', async () => {
    expect((await command('accounts', 'init', keys))[0]).toContain(`${keys} holds the keys`);
    for (const file of await readdir(keys)) {
      const { mode } = await stat(join(keys, file));
      expect((mode & 0o777).toString(8), file).toBe(file === 'nats-server.conf' ? '644' : '600');
    }
    expect(((await stat(keys)).mode & 0o777).toString(8)).toBe('700');
    await expect(command('accounts', 'init', keys)).rejects.toThrow('is not empty; name a new folder');
    expect(await command('accounts', 'list', keys)).toEqual(['there are none in the namespace mesh']);
  });

  it('add services to a running server, and print which accounts have changed', async () => {
    const text = await readFile(join(keys, 'nats-server.conf'), 'utf8');
    const dir = join(tmpdir(), `agentmesh-resolver-${randomUUID()}`);
    owners.defer(() => rm(dir, { recursive: true, force: true }));
    const configuration = text.replace('$NATS_ACCOUNTS_DIR', JSON.stringify(dir));
    ({ url } = owners.use(await startNats({ configuration })));
    const first = await definitions('first', [
      { kind: 'agent', name: 'desk', description: 'Answers.', calls: ['rate'] },
    ]);
    expect(await command('accounts', 'add', keys, first)).toEqual([
      `agent_desk: its credentials (MESH_NATS_CREDS) are in ${creds('agent_desk')}`,
      'pushed accounts: MESH, gateway, client, agent_desk',
      'there are no streams yet; run the provisioning step with the credentials of provision',
    ]);
    const spare = await definitions('spare', [{ kind: 'agent', name: 'spare', description: 'Leaves.' }]);
    await command('accounts', 'add', keys, spare);
    // A service may leave before there are streams, too.
    expect((await command('accounts', 'remove', keys, 'agent_spare')).join()).not.toContain('not found');
    await provision({ url, credsFile: creds('provision'), agents: [], storage: 'memory' });
    const second = await definitions('second', [{ kind: 'tool', name: 'rate', longRunning: true }]);
    const [, pushed, ...more] = await command('accounts', 'add', keys, second);
    expect(pushed).toBe('pushed accounts: tool_rate, MESH, gateway, agent_desk');
    expect(more).toEqual([]);
    expect((await command('accounts', 'add', keys, second))[1]).toContain('none, the servers have them all');
    await command('accounts', 'add', keys, first);
    expect((await command('accounts', 'list', keys)).map((line) => line.split('  ')[0])).toEqual([
      ...['provision', 'gateway', 'client', 'tool_rate', 'agent_desk'],
    ]);
    // The record of the agent is there, so that its card cannot claim more.
    await using cards = await openCards({ url, credsFile: creds('provision') });
    await using reader = await connectNats({ url, service: 'gateway', credsFile: creds('gateway') });
    await using evil = await open('agent_desk');
    await evil.announce(
      cardSchema.parse({ kind: 'agent', name: 'desk', description: 'Lies.', version: '6' }),
    );
    await until(() => reader.directory.get('agent', 'desk')?.version === '6');
    expect(reader.directory.get('agent', 'desk')).toMatchObject({ description: 'Answers.' });
    await evil[Symbol.asyncDispose]();
    await cards.remove('agent', 'desk');
    // The queues are there.
    await using agent = await open('agent_desk');
    const runs = await agent.consumeRuns('desk', async () => ({ done: true }), { maxConcurrency: 1 });
    await runs.stop();
    await using tool = await open('tool_rate');
    await tool.serve(names.toolCall('rate'), async function* () {
      yield { type: 'result', data: { rate: 3 } };
    });
    const frames = await Array.fromAsync(agent.request(names.toolCall('rate'), {}));
    expect(frames.at(-1)).toMatchObject({ data: { rate: 3 } });
  });

  it('rotate credentials in two steps, and the signing key', async () => {
    const old = join(place, 'old.creds');
    await writeFile(old, await readFile(creds('tool_rate')));
    await expect(command('accounts', 'rotate', keys, 'tool_rate', '--finish')).rejects.toThrow(
      'run the command without --finish first',
    );
    await command('accounts', 'rotate', keys, 'tool_rate');
    const listed = await jsonOf({ env: { NATS_URL: url } }, ['accounts', 'list', keys]);
    expect(listed[0]).toContainEqual(expect.objectContaining({ service: 'tool_rate', isRotating: true }));
    expect((await command('accounts', 'list', keys)).filter((line) => line.includes('old'))).toHaveLength(1);
    await expect(command('accounts', 'rotate', keys, 'tool_rate')).rejects.toThrow('--finish');
    const login = { url, service: 'tool_rate', credsFile: old, cards: false };
    await (await connectNats(login))[Symbol.asyncDispose]();
    await command('accounts', 'rotate', keys, 'tool_rate', '--finish');
    await expect(connectNats(login)).rejects.toMatchObject({ code: 'unauthenticated' });
    await (await open('tool_rate'))[Symbol.asyncDispose]();
    expect((await command('accounts', 'rotate', keys, '--signing-key'))[0]).toBe(
      'signed and pushed accounts: 6',
    );
    expect((await command('accounts', 'push', keys))[0]).toContain('MESH, gateway, client, ');
    await (await open('tool_rate'))[Symbol.asyncDispose]();
  });

  it('remove a service with its credentials, queues and card', async () => {
    await using agent = await open('agent_desk');
    await agent.announce({ kind: 'agent', name: 'desk' });
    const client = await open('client');
    await client.enqueue(names.agentRun('desk', 's'), { any: 1 }, { messageId: 'one' });
    await client[Symbol.asyncDispose]();
    expect(await command('accounts', 'remove', keys, 'agent_desk')).toEqual([
      'agent_desk has no account any more; pushed accounts: agent_desk, MESH, gateway, client, tool_rate',
      'its queues held 1 messages; see them with orphans list',
    ]);
    await expect(open('agent_desk')).rejects.toThrow('cannot be read');
    expect(agent.status().connected).toBe(false);
    await expect(command('accounts', 'remove', keys, 'agent_desk')).rejects.toThrow(
      'no account belongs to agent_desk',
    );
    await expect(command('accounts', 'remove', keys, 'tool_rat')).rejects.toThrow('did you mean tool_rate?');
    await expect(command('accounts', 'remove', keys, 'gateway')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('work on a folder one after the other, and take over the lock of a process that has ended', async () => {
    const lock = join(keys, 'lock');
    await writeFile(lock, `${process.ppid} ${hostname()}`);
    for (const words of [['push'], ['rotate', '--signing-key']]) {
      const [verb = '', ...more] = words;
      await expect(command('accounts', verb, keys, ...more)).rejects.toThrow(
        `another command works on these keys (process ${process.ppid} on ${hostname()})`,
      );
    }
    await writeFile(lock, `1 another-host`);
    await expect(command('accounts', 'push', keys)).rejects.toThrow('process 1 on another-host');
    // No process has so large a number.
    await writeFile(lock, `99999999 ${hostname()}`);
    expect((await command('accounts', 'push', keys))[0]).toContain('pushed accounts: ');
    expect(await readdir(keys)).not.toContain('lock');
  });

  it.each([
    [['accounts', 'init'], "missing required argument 'folder'"],
    [['accounts', 'add', 'keys'], "missing required argument 'definitions'"],
    [['accounts', 'rotate', 'keys'], 'name a service, or --signing-key alone'],
    [['accounts', 'rotate', 'keys', '--signing-key', '--finish'], 'name a service, or --signing-key alone'],
    [['accounts', 'push', '/nowhere'], '/nowhere/operator.json is missing; make the keys with'],
    [['rights', 'list', '/nowhere.json'], '/nowhere.json cannot be read'],
    [['rights', 'list', '/nowhere.ts'], '/nowhere.ts cannot be read'],
  ])('say what is wrong: %s', async (words, message) => {
    await expect(command(...words)).rejects.toThrow(message);
  });

  it('refuse definitions with unknown fields, without services, and with one name twice', async () => {
    const desk = { kind: 'agent', name: 'desk' };
    const bad = async (name: string, services: object[]) =>
      command('rights', 'list', await definitions(name, services));
    await expect(bad('a', [{ ...desk, call: ['x'] }])).rejects.toThrow('call" is not known');
    await expect(bad('b', [])).rejects.toThrow('defines no service');
    await expect(bad('c', [desk, desk])).rejects.toThrow('defines agent_desk twice');
    await expect(bad('d', [{ kind: 'agent', name: 'a b' }])).rejects.toThrow('agent name "a b"');
  });
});

it('rights list prints what enters and leaves the account of a service, and nothing else', async () => {
  const file = await definitions('all', [
    { kind: 'agent', name: 'desk', calls: ['rate'] },
    { kind: 'tool', name: 'rate' },
  ]);
  const lines = (await command('rights', 'list', file, 'tool_rate')).map((line) => line.split(/ +/));
  const answered = lines.filter(([, verb]) => verb === 'answers').map(([, , subject]) => subject);
  expect(answered).toContain(names.toolCall('rate'));
  expect(answered.filter((subject) => !/rate/.test(subject ?? ''))).toEqual([]);
  expect(lines.filter(([, verb]) => verb === 'tells')).toEqual([]);
  expect(lines).toContainEqual(['tool_rate', 'answers', names.toolCall('rate'), 'agent_desk']);
  const inRedis = lines.filter((line) => line.at(-1) === 'redis');
  expect(new Set(inRedis.map(([, verb]) => verb))).toEqual(new Set(['uses', 'reads', 'commands']));
  const used = inRedis.flatMap(([, verb, pattern]) => (verb === 'uses' && pattern ? [pattern] : []));
  expect(used.filter((pattern) => !pattern.includes('rate'))).toEqual([]);
  expect(inRedis.find(([, verb]) => verb === 'commands')).not.toContain('eval');
  const [rows] = (await jsonOf({ env: {} }, ['rights', 'list', file, 'tool_rate'])) as [unknown[]];
  expect(rows).toHaveLength(lines.length);
  expect(rows[0]).toMatchObject({ account: 'tool_rate', verb: lines[0]?.[1] });
  await expect(command('rights', 'list', file, 'tool_rat')).rejects.toThrow('did you mean tool_rate?');
});

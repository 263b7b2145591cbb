import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { copyFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv, promisify } from 'node:util';
import { BaseAgent, createEvent, type InvocationContext } from '@agentmesh/agent';
import { connectNats, provision } from '@agentmesh/bus';
import { connectService, keeperService, MeshKeeperArtifacts, serveAgent, serveKeeper } from '@agentmesh/mesh';
import { newCredentialKeys, subjects } from '@agentmesh/protocol';
import { createLogger, readConfig, serviceConfig } from '@agentmesh/service';
import { connectRedis, provisionRedis } from '@agentmesh/store';
import { until } from '@agentmesh/testing';
import { startNats, startRedis } from '@agentmesh/testing/servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jsonOf, linesOf } from '../../commands.fixture.ts';

const owners = new AsyncDisposableStack();
const names = subjects();
let keys: string;
let env: { NATS_URL: string; REDIS_URL: string; MESH_KEYS: string };

/** An agent of another program, which returns the message. */
class EchoAgent extends BaseAgent {
  protected override async *runAsyncImpl({ invocationId, userContent }: InvocationContext) {
    yield createEvent({
      invocationId,
      author: this.name,
      content: { role: 'model', parts: userContent?.parts ?? [] },
    });
  }
}

const desk = {
  ...{ kind: 'agent', name: 'desk', transfers: [], asks: [], calls: ['rate', 'slow'] },
  ...{ offers: ['sum*'], app: 'shop' },
};

beforeAll(async () => {
  const place = await mkdtemp(join(tmpdir(), 'agentmesh-join-'));
  owners.defer(() => rm(place, { recursive: true }));
  keys = join(place, 'keys');
  await linesOf({ env: {} }, ['accounts', 'init', keys]);
  const text = await readFile(join(keys, 'nats-server.conf'), 'utf8');
  const dir = join(tmpdir(), `agentmesh-resolver-${randomUUID()}`);
  owners.defer(() => rm(dir, { recursive: true, force: true }));
  const configuration = text.replace('$NATS_ACCOUNTS_DIR', JSON.stringify(dir));
  const nats = owners.use(await startNats({ configuration }));
  const users =
    'user agent_desk on #5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8 resetkeys\n';
  const redis = owners.use(await startRedis({ password: 'secret', users }));
  env = { NATS_URL: nats.url, REDIS_URL: redis.url, MESH_KEYS: keys };
  await provisionRedis({ url: redis.url });
  const file = join(place, 'services.json');
  await writeFile(file, JSON.stringify([desk]));
  await command('accounts', 'add', keys, file);
  const credsFile = join(keys, 'mesh/provision.creds');
  await provision({ url: nats.url, credsFile, agents: ['desk'], storage: 'memory' });
});
afterAll(() => owners.disposeAsync());

const command = (...words: string[]) => linesOf({ env }, words);
const modeOf = async (file: string) => ((await stat(file)).mode & 0o777).toString(8);
const variablesOf = async (file: string) => parseEnv(await readFile(file, 'utf8'));
const login = (service: string, credsFile = join(keys, `mesh/${service}.creds`)) =>
  connectNats({ url: env.NATS_URL, service, credsFile, cards: false, connectTimeoutMs: 2_000 });

async function usersOfRedis(): Promise<string[]> {
  await using redis = await connectRedis({ url: env.REDIS_URL });
  return (await redis.run((client) => client.call('ACL', ['LIST']))) as string[];
}

describe('agentmesh join', () => {
  it('gives a tool its own rights while the mesh runs, and revoke takes them away at once', async () => {
    await using agent = await login('agent_desk');
    const lines = await command('join', 'rate', '--kind', 'tool');
    const file = join(keys, 'mesh/tool_rate.env');
    expect(lines[0]).toContain(`tool_rate has joined: start it with the variables in ${file}`);
    expect(lines).toContain(`  answers ${names.toolCall('rate')} (agent_desk)`);
    const variables = await variablesOf(file);
    expect(lines.join('\n')).not.toContain(String(variables.REDIS_URL).split(/[:@]/)[2]);
    expect(await modeOf(file)).toBe('600');
    expect(await modeOf(variables.MESH_NATS_CREDS ?? '')).toBe('600');

    const tool = await login('tool_rate', variables.MESH_NATS_CREDS);
    await tool.announce({ kind: 'tool', name: 'rate', declaration: { name: 'rate' } });
    await tool.serve(names.toolCall('rate'), async function* () {
      yield { type: 'result', data: { response: 3 } };
    });
    const frames = await Array.fromAsync(agent.request(names.toolCall('rate'), { args: {} }));
    expect(frames.at(-1)).toMatchObject({ data: { response: 3 } });
    expect(agent.status().connected).toBe(true);

    // Its user of Redis has its own keys alone, and the user of an agent that calls it did not change.
    const own = await connectRedis({ url: variables.REDIS_URL ?? '', onError: () => {} });
    await own.run((redis) => redis.call('HGETALL', ['am:call:{rate:x}'])).catch(() => {});
    await expect(own.run((redis) => redis.call('GET', ['am:{shop:ann}:user']))).rejects.toMatchObject({
      code: 'permission_denied',
    });
    expect(await command('revoke', 'rate')).toEqual([
      'tool_rate has no credentials any more, and its connections are closed',
    ]);
    await until(() => !tool.status().connected, { what: 'the connection to be closed' });
    await expect(own.ping()).rejects.toThrow();
    await expect(connectRedis({ url: variables.REDIS_URL ?? '' })).rejects.toMatchObject({
      code: 'unauthenticated',
    });
    await tool[Symbol.asyncDispose]();
    await own[Symbol.asyncDispose]();
    expect((await usersOfRedis()).join('\n')).not.toContain('tool_rate');
    for (const old of [file, variables.MESH_NATS_CREDS ?? ''])
      await expect(stat(old)).rejects.toMatchObject({ code: 'ENOENT' });
    expect(agent.status().connected).toBe(true);
  });

  it('gives agents the rights to the tools that they are offered, and takes them away again', async () => {
    const ruleOf = async () => (await usersOfRedis()).find((line) => line.startsWith('user agent_desk'));
    await command('join', 'sum', '--kind', 'tool');
    expect(await ruleOf()).toContain('sum');
    await command('revoke', 'tool_sum');
    expect(await ruleOf()).not.toContain('sum');
  });

  it('refuses the name of a service of another kind, and a second root of an app', async () => {
    const refused = (...words: string[]) => expect(command('join', ...words)).rejects;
    await refused('desk', '--kind', 'tool').toThrow(
      'the mesh has a service desk already, a service of kind agent',
    );
    await refused('gateway', '--kind', 'agent').toThrow('the mesh has a service gateway already');
    await refused('bad', '--kind', 'agent', '--app', 'shop').toThrow('agent desk is the root of app shop');
  });

  it.each([
    ['--app', 'app name "*"'],
    ['--calls', '"*"'],
    ['--asks', '"*"'],
    ['--transfers', '"*"'],
  ])('refuses the name * of %s', async (flag, says) => {
    await expect(command('join', 'bad', '--kind', 'agent', flag, '*')).rejects.toThrow(says);
  });

  it('names the program of a publisher, whose help and errors are no tracebacks', async () => {
    const [first, program] = await command('join', 'sender', '--kind', 'publisher', '--agents', 'desk');
    expect(first).toContain('publisher_sender has joined');
    expect(program).toMatch(/set \+a; python3 publisher\.py ask desk "Hello"$/);
    const cwd = join(import.meta.dirname, '../../../../../docs/examples/any-language');
    const publish = (words: string[], given: Record<string, string> = {}) =>
      promisify(execFile)('python3', ['-B', 'publisher.py', ...words], {
        cwd,
        env: { PATH: process.env.PATH, ...given },
      });
    expect((await publish(['--help'])).stdout).toMatch(/^usage: publisher\.py \[-h\] {ask,run} agent text\n/);
    for (const [words, given, message] of [
      [['ask'], {}, /^usage: .*\npublisher\.py: error: the following arguments are required: agent, text\n$/],
      [['ask', 'desk', 'hi'], {}, /^invalid_argument: NATS_URL is not set; .*agentmesh join.*\n$/],
      [
        ['ask', 'desk', 'hi'],
        { NATS_URL: 'nats://127.0.0.1:1' },
        /^unavailable: no NATS server answers at .*\n$/,
      ],
    ] as const)
      await expect(publish([...words], given)).rejects.toMatchObject({
        stderr: expect.stringMatching(message),
      });
    await command('revoke', 'sender');
  });

  it('lets the operator watch with the credentials of the client beside its own, and refuses without them', async () => {
    const creds = (name: string) => join(keys, `mesh/${name}.creds`);
    const stop = new AbortController();
    const asOperator = { env: { ...env, MESH_NATS_CREDS: creds('provision') }, signal: stop.signal };
    const watching = linesOf(asOperator, ['watch', 'shop', '--json']);
    await using agent = await login('agent_desk');
    const ref = { appName: 'shop', userId: 'ann', sessionId: 's' };
    const event = createEvent({
      invocationId: 'e-1',
      author: 'desk',
      content: { role: 'model', parts: [{ text: 'hi' }] },
    });
    const publishing = setInterval(
      () => void agent.publish(names.sessionEvent(ref, 'e-1', 'agent_desk'), event),
      100,
    );
    // The subscription has no sign of its own outside: the watch ends after some events.
    setTimeout(() => stop.abort(), 3_000);
    const [first = 'null'] = await watching;
    clearInterval(publishing);
    expect(JSON.parse(first)).toMatchObject({
      app: 'shop',
      user: 'ann',
      session: 's',
      event: { author: 'desk' },
    });
    const alone = join(keys, '..', 'provision.creds');
    await copyFile(creds('provision'), alone);
    const refused = { env: { ...env, MESH_NATS_CREDS: alone } };
    await expect(linesOf(refused, ['watch'])).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining('log in as the user client: set MESH_NATS_CREDS'),
    });
  }, 20_000);

  it('gives a publisher its agents alone', async () => {
    const [joined] = await jsonOf({ env }, [
      'join',
      'billing',
      '--kind',
      'publisher',
      '--agents',
      'desk',
      '--show',
    ]);
    const { variables, rights } = joined as {
      variables: Record<string, string>;
      rights: { subject: string }[];
    };
    expect(variables).not.toHaveProperty('REDIS_URL');
    expect(rights.map(({ subject }) => subject).sort()).toEqual([
      ...['$JS.API.INFO', names.agentAsk('desk'), names.agentRun('desk', 's').replace(/s$/, '*')],
    ]);
    await using publisher = await login('publisher_billing', variables.MESH_NATS_CREDS);
    await publisher.enqueue(names.agentRun('desk', 's'), { message: 'hi' }, { messageId: 'one' });
    await expect(
      publisher.enqueue(names.agentRun('clerk', 's'), { message: 'hi' }, { messageId: 'two' }),
    ).rejects.toMatchObject({ code: 'permission_denied' });
    await command('revoke', 'billing');
  });

  it('gives an agent of another program its app, its record and its queues', async () => {
    const [joined] = (await jsonOf({ env }, [
      ...['join', 'guest', '--kind', 'agent', '--app', 'guest_app'],
      ...['--transfers', 'desk', '--files', '--show'],
    ])) as [{ variables: Record<string, string>; notes: string[] }];
    expect(joined.notes).toEqual([expect.stringContaining('a keeper gives it files and credentials')]);
    const log = createLogger({ service: 'guest', replica: 'guest-1', level: 'fatal' });
    const config = readConfig(serviceConfig, joined.variables);
    await using mesh = await connectService('agent_guest', config, log);
    expect(mesh.artifacts).toBeInstanceOf(MeshKeeperArtifacts);
    const started = await serveAgent(mesh, new EchoAgent({ name: 'guest' }), { app: 'guest_app' });
    await using client = await login('client');
    const asked = { message: 'hello' };
    const frames = await Array.fromAsync(client.request(names.agentAsk('guest'), asked));
    expect(JSON.stringify(frames.at(-1))).toContain('hello');
    const operator = { ...env, MESH_NATS_CREDS: join(keys, 'mesh/provision.creds') };
    const list = async () => (await linesOf({ env: operator }, ['ls'])).join('\n');
    expect(await list()).toMatch(/agent {2}guest .*app guest_app {2}replicas: 1 {2}requests: 1/);
    await started.stop({ graceMs: 0 });
    await command('revoke', 'guest');
    expect(await list()).not.toContain('guest');
  });

  it('gives a tool the credentials under its credential keys, through a keeper', async () => {
    const words = ['join', 'slow', '--kind', 'tool', '--credentials', 'maps', '--show'];
    const [joined] = (await jsonOf({ env }, words)) as [
      { variables: Record<string, string>; notes: string[]; rights: { subject: string }[] },
    ];
    expect(joined.notes).toEqual([expect.stringContaining('with CREDENTIAL_KEYS')]);
    const asked = joined.rights.map(({ subject }) => subject).filter((each) => each.includes('.secret.'));
    expect(asked.sort()).toEqual([
      names.secret('tool_slow', 'key:maps'),
      names.secret('tool_slow', 'sign-in'),
    ]);
    const log = createLogger({ service: 'slow', replica: 'slow-1', level: 'silent' });
    const connect = (service: string, variables: Record<string, string>) =>
      connectService(service, readConfig(serviceConfig, variables), log, { cards: false });
    const creds = { MESH_NATS_CREDS: join(keys, 'mesh/keeper.creds') };
    await using keeper = await connect(keeperService, {
      NATS_URL: env.NATS_URL,
      REDIS_URL: env.REDIS_URL,
      ...creds,
    });
    const serving = await serveKeeper(keeper, { credentialKeys: newCredentialKeys() });
    await using tool = await connect('tool_slow', joined.variables);
    const ref = { appName: 'shop', userId: 'ann', sessionId: 's', invocationId: 'e' };
    await keeper.sessions.createSession(ref);
    await keeper.sessions.leases.take(ref, { run: '', whenBusy: 'reject', agent: 'desk' });
    await keeper.sessions.invocations.noteCall(ref, { id: 'c', tool: 'slow' });
    const owner = { appName: 'shop', userId: 'ann', homeSessionId: 's' };
    const config = (credentialKey: string) => ({
      ...{ credentialKey, authScheme: { type: 'apiKey' } as const },
      exchangedAuthCredential: { authType: 'apiKey', apiKey: 'SECRET' } as const,
    });
    const { credentialService } = tool.credentials ?? expect.fail();
    await credentialService.saveCredential(config('maps'), owner);
    expect(await credentialService.loadCredential(config('maps'), owner)).toMatchObject({ apiKey: 'SECRET' });
    await expect(credentialService.saveCredential(config('mail'), owner)).rejects.toMatchObject({
      code: 'permission_denied',
    });
    await serving.stop();
    await command('revoke', 'slow');
  });

  it('takes joins at the same time one after the other; the second of one name is told', async () => {
    const all = ['a', 'b', 'c', 'a'].map((name) => command('join', `tool_${name}`, '--kind', 'tool'));
    const results = await Promise.allSettled(all);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    expect(results.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: 'already_exists', message: expect.stringContaining('revoke it first') },
    });
    for (const name of ['a', 'b', 'c']) {
      await (await login(`tool_tool_${name}`))[Symbol.asyncDispose]();
      await command('revoke', `tool_${name}`);
    }
  });

  it('leaves nothing behind when a step fails', async () => {
    await using admin = await connectRedis({ url: env.REDIS_URL });
    await admin.run((redis) => redis.call('ACL', ['SETUSER', 'poor', 'on', '>pw', '~*', '+@all', '-acl']));
    const poor = { ...env, REDIS_URL: env.REDIS_URL.replace('://:secret@', '://poor:pw@') };
    await expect(linesOf({ env: poor }, ['join', 'rate', '--kind', 'tool'])).rejects.toMatchObject({
      code: 'permission_denied',
      message: expect.stringContaining('use --no-redis and add the user by hand'),
    });
    await admin.run((redis) => redis.call('ACL', ['SETUSER', 'poor', '+acl', '-acl|setuser']));
    await expect(linesOf({ env: poor }, ['join', 'rate', '--kind', 'tool'])).rejects.toThrow();
    expect((await command('accounts', 'list', keys)).join('\n')).not.toContain('tool_rate');
    await expect(stat(join(keys, 'mesh/keys/tool_rate.redis'))).rejects.toMatchObject({ code: 'ENOENT' });
    const lines = await linesOf({ env: poor }, ['join', 'rate', '--kind', 'tool', '--no-redis']);
    expect(lines.at(-1)).toMatch(
      /^add this line to the ACL file of Redis, then ACL LOAD: user tool_rate on #/,
    );
    await command('revoke', 'rate');
  });

  it.each([
    [['join', 'rate'], 'name the kind: --kind tool'],
    [['join', 'rate', '--kind', 'queue'], 'Allowed choices are tool, agent, publisher'],
    [['join', 'a b', '--kind', 'tool'], 'tool name "a b"'],
    [['join', 'rate', '--kind', 'tool', '--agents', 'desk'], '--agents is for a service of kind publisher'],
    [['join', 'rate', '--kind', 'agent', '--long-running'], '--long-running is for a service of kind tool'],
    [['join', 'x', '--kind', 'publisher'], 'name the agents of the publisher'],
    [['join', 'x', '--kind', 'publisher', '--agents', 'dsk'], 'knows no agent dsk; did you mean desk?'],
    [['join', 'desk', '--kind', 'agent'], 'agent_desk is a service of the mesh already'],
    [['join', 'x', '--kind', 'publisher', '--agents', '*', '--files'], '--files is for a service of kind'],
    [['join', 'x', '--kind', 'agent', '--transfers', 'dsk'], 'knows no agent dsk; did you mean desk?'],
    [['revoke', 'desk'], 'desk did not join: it is defined with the mesh'],
    [['revoke', 'rat'], 'no service rat has joined'],
    [['join', 'x', '--kind', 'tool', '--keys', '/nowhere'], '/nowhere/operator.json is missing'],
  ])('says what is wrong: %s', async (words, message) => {
    await expect(command(...words)).rejects.toThrow(message);
  });

  it('says what to do for a mesh whose accounts are in a file', async () => {
    await expect(
      linesOf({ env: { NATS_URL: env.NATS_URL } }, ['join', 'x', '--kind', 'tool']),
    ).rejects.toThrow('names no folder of keys: use --keys <folder>. With accounts in nats-server.conf');
  });
});

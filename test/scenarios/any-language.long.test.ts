import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv, promisify } from 'node:util';
import { provision } from '@agentmesh/bus';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { agentManifest } from '@agentmesh/mesh';
import { every, everySession, subjects } from '@agentmesh/protocol';
import { endProcess, until } from '@agentmesh/testing';
import { type Server, startRedis } from '@agentmesh/testing/servers';
import { connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ResolverStage, startResolverStage } from '../resolver.fixture.ts';
import { lastText, restClient } from '../rest-client.ts';
import { exchangeApp } from './any-language/src/agent.ts';

const root = join(import.meta.dirname, '../..');
const examples = join(root, 'docs/examples/any-language');
const names = subjects();
const services = [{ manifest: agentManifest(exchangeApp), folder: 'test/scenarios/any-language' }];

let stage: ResolverStage;
let redis: Server;
let mesh: LocalMesh;
let tool: ChildProcess;
let toolEnv: NodeJS.ProcessEnv;

beforeAll(async () => {
  await promisify(execFile)('python3', ['--version']).catch((cause: unknown) => {
    throw new Error('this test needs python3: apt-get install python3, or run npm test, which does it', {
      cause,
    });
  });
  stage = await startResolverStage(services.map(({ manifest }) => manifest));
  redis = await startRedis({ appendOnly: true });
  const servers = { natsUrl: stage.url, redisUrl: redis.url };
  await provision({ url: stage.url, credsFile: stage.credsOf('provision'), agents: ['exchange_agent'] });
  mesh = await launchMesh({ services, model: 'scripted', ...servers, credsOf: stage.credsOf });
}, 120_000);
afterAll(async () => {
  if (tool) await endProcess(tool, 'SIGKILL');
  await mesh?.[Symbol.asyncDispose]();
  await stage?.[Symbol.asyncDispose]();
  await redis?.stop();
});

/** Runs the command `agentmesh` as a process of its own. */
async function agentmesh<T>(...words: string[]): Promise<T> {
  const env = {
    ...{ PATH: process.env.PATH, NATS_URL: stage.url, REDIS_URL: redis.url },
    MESH_KEYS: stage.tenancy.folder.path,
  };
  const args = [join(root, 'libs/cli/src/main.ts'), ...words, '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  return JSON.parse(stdout);
}

const joinedEnv = async (file: string): Promise<NodeJS.ProcessEnv> => ({
  ...{ PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: '1' },
  ...parseEnv(await readFile(file, 'utf8')),
});

/** Starts the tool in Python, and waits until it serves. */
async function startTool(): Promise<ChildProcess> {
  const child = spawn('python3', ['tool.py'], {
    cwd: examples,
    env: toolEnv,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout?.on('data', (data: Buffer) => {
    output += data.toString();
  });
  await until(() => output.includes('"started"'), { what: 'the tool in Python', timeoutMs: 20_000 });
  return child;
}

async function say(text: string): Promise<string> {
  const client = restClient(mesh.gatewayUrl);
  const session = await client.createSession('exchange_app');
  return lastText(await client.events('exchange_app', session, text));
}

const pids = () => [...mesh.processes, mesh.gateway].map(({ pid }) => pid);
const isAlive = (pid: number) => process.kill(pid, 0);

describe('a tool in Python', () => {
  it('joins the running mesh, and an agent in TypeScript uses it', async () => {
    const joined = await agentmesh<{ env: string; creds: string }>('join', 'get_rate', '--kind', 'tool');
    for (const file of [joined.env, joined.creds])
      expect(((await stat(file)).mode & 0o777).toString(8), file).toBe('600');
    toolEnv = await joinedEnv(joined.env);
    tool = await startTool();
    expect(await say('What is a euro in USD?')).toBe('{"currency":"USD","rate":1.25}');
    expect(await say('What is a euro in XYZ?')).toContain('the currency XYZ is not known');
  });

  it('keeps its caller waiting by heartbeats while it works', async () => {
    expect(await say('What is a euro in JPY? Answer slowly.')).toBe('{"currency":"JPY","rate":160}');
  });

  it('is killed and started again, and nothing else is restarted', async () => {
    const before = pids();
    await endProcess(tool, 'SIGKILL');
    const answer = say('What is a euro in USD?');
    tool = await startTool();
    expect(await answer).toContain('1.25');
    expect(pids()).toEqual(before);
    for (const pid of before) expect(isAlive(pid)).toBe(true);
  });
});

describe('as its user the tool in Python', () => {
  let connection: NatsConnection;
  beforeAll(async () => {
    const credentials = readFileSync(toolEnv.MESH_NATS_CREDS ?? '');
    connection = await connect({
      ...{ servers: stage.url, authenticator: credsAuthenticator(credentials) },
      inboxPrefix: names.inboxPrefix('tool_get_rate'),
    });
  });
  afterAll(() => connection?.close());

  const session = { appName: 'exchange_app', userId: 'u1', sessionId: 's' };
  it.each([
    ['ask an agent', names.agentAsk('exchange_agent')],
    ['delegate to an agent', names.agentDelegate('exchange_agent')],
    ['give a run to an agent', names.agentRun('exchange_agent', 's')],
    ['answer a call of another agent', names.operation('exchange_agent', 'c', 'client')],
    [
      'answer a call of its caller under its own name',
      names.operation('exchange_agent', 'c', 'tool_get_rate'),
    ],
    ['call a tool', names.toolCall('other')],
    ['give a job to a tool', names.toolJob('get_rate')],
    ['publish an event', names.sessionNews(session, 'e', 'agent_exchange_agent')],
    ['cancel an invocation', names.invocationCancel('e', 'tool_get_rate')],
    ['publish to a session', names.sessionEvent(session, 'e', 'agent_exchange_agent')],
    ['write the card of an agent', `$KV.${names.cardBucket}.agent.exchange_agent`],
    ['write the card of another tool', `$KV.${names.cardBucket}.tool.other`],
    ['write the record of an agent', `$KV.${names.cardBucket}.${names.provisionedKey('exchange_agent')}`],
    ['announce the card of another tool', names.allCardNews.replace('>', 'tool.other')],
    ['read the runs', `$JS.API.STREAM.MSG.GET.${names.workStream('run')}`],
    ['read the cards', `$JS.API.STREAM.MSG.GET.KV_${names.cardBucket}`],
    ['delete a stream', `$JS.API.STREAM.DELETE.${names.workStream('run')}`],
    ['make a consumer', `$JS.API.CONSUMER.CREATE.${names.workStream('run')}`],
    ['take the runs of an agent', `$JS.API.CONSUMER.MSG.NEXT.${names.workStream('run')}.exchange_agent`],
    ['acknowledge the runs of an agent', `$JS.ACK.${names.workStream('run')}.exchange_agent.1.1.1.1.0`],
    ['write an audit record', names.audit('tool_get_rate')],
    ['write into the inbox of another service', `${names.inboxPrefix('gateway')}.x`],
    ['list the pending calls of people', names.pending],
    ['ask the server', '$SYS.REQ.SERVER.PING'],
  ])('may not %s', async (_what, subject) => {
    await expect(connection.request(subject, '{}', { timeout: 3_000 })).rejects.toThrow(
      /Permissions Violation/i,
    );
  });

  it.each([
    ['everything', '>'],
    ['the calls of another tool', names.toolCall('other')],
    ['the asks of an agent', names.agentAsk('exchange_agent')],
    ['the events of sessions', names.sessionEvent(everySession, every, every)],
    ['the events of invocations', names.sessionNews(session, 'e', 'agent_exchange_agent')],
    ['the inboxes of others', '_INBOX.>'],
    ['the changes of cards', names.allCardNews],
  ])('may not hear %s', async (_what, subject) => {
    const refused = Promise.withResolvers<Error | null>();
    connection.subscribe(subject, { callback: (error) => refused.resolve(error) });
    expect(String(await refused.promise)).toMatch(/Permissions Violation/i);
  });

  it('gets no message of others by a reply subject', async () => {
    const before = await runsIn();
    const reply = names.agentRun('exchange_agent', 'evil');
    for (const subject of [`$KV.${names.cardBucket}.tool.get_rate`, `$SRV.PING.get_rate.x`])
      connection.publish(subject, '{}', { reply });
    await connection.flush();
    expect(await runsIn()).toBe(before);
  });
});

/** Returns the number of the last run that was stored. */
async function runsIn(): Promise<number> {
  const credentials = readFileSync(stage.credsOf('provision'));
  const operator = await connect({ servers: stage.url, authenticator: credsAuthenticator(credentials) });
  const reply = await operator.request(`$JS.API.STREAM.INFO.${names.workStream('run')}`);
  await operator.close();
  return reply.json<{ state: { last_seq: number } }>().state.last_seq;
}

describe('a publisher in Python', () => {
  it('asks its agent and gives it runs, and reaches no other agent', async () => {
    const joined = await agentmesh<{ env: string }>(
      ...['join', 'billing', '--kind', 'publisher', '--agents', 'exchange_agent'],
    );
    const env = await joinedEnv(joined.env);
    const publish = (...words: string[]) =>
      promisify(execFile)('python3', ['publisher.py', ...words], { cwd: examples, env });
    const { stdout } = await publish('ask', 'exchange_agent', 'What is a euro in USD?');
    expect(stdout.trim()).toBe('{"currency":"USD","rate":1.25}');
    expect((await publish('run', 'exchange_agent', 'What is a euro in JPY?')).stdout).toMatch(
      /accepted as number \d+/,
    );
    await expect(publish('run', 'other_agent', 'hi')).rejects.toMatchObject({
      stderr: expect.stringContaining('permission_denied'),
    });
  });

  it('loses its connection when it is revoked', async () => {
    const credentials = readFileSync(toolEnv.MESH_NATS_CREDS ?? '');
    const authenticator = credsAuthenticator(credentials);
    const watcher = await connect({ servers: stage.url, authenticator, reconnect: false });
    await agentmesh('revoke', 'get_rate');
    await watcher.closed();
    await expect(connect({ servers: stage.url, authenticator, reconnect: false })).rejects.toThrow(
      /Authorization/i,
    );
  });
});

import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BaseLlm, LlmAgent, type LlmRequest, type LlmResponse } from '@agentmesh/agent';
import { openQueues, provision } from '@agentmesh/bus';
import { appNames, type ConnectedMesh, connectService, readInvocation, serveAgent } from '@agentmesh/mesh';
import { everySession } from '@agentmesh/protocol';
import { createLogger, readConfig, serviceConfig } from '@agentmesh/service';
import { type Server, startNats, startRedis, until } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { jsonOf, linesOf } from '../commands.fixture.ts';

/** A model that answers when the test tells it to, and ignores an abort. */
class Model extends BaseLlm {
  hangs = false;

  constructor() {
    super({ model: 'model' });
  }

  override async *generateContentAsync(
    _request: LlmRequest,
    _stream?: boolean,
    signal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, void> {
    if (this.hangs)
      await new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    yield { content: { role: 'model', parts: [{ text: 'hello' }] } };
  }
}

describe('the operator command', () => {
  let servers: Server[] = [];
  let mesh: ConnectedMesh;
  let config: ReturnType<typeof readConfig<typeof serviceConfig>>;
  const model = new Model();
  const log = createLogger({ service: 'test', replica: 'test', level: 'fatal' });
  const owners = new AsyncDisposableStack();

  beforeAll(async () => {
    const [nats, redis] = await Promise.all([startNats(), startRedis()]);
    servers = [nats, redis];
    config = readConfig(serviceConfig, { NATS_URL: nats.url, REDIS_URL: redis.url });
    await provision({ url: nats.url, agents: ['solo'], storage: 'memory' });
    mesh = owners.use(await connectService('agent_solo', config, log));
    const served = await serveAgent(mesh, new LlmAgent({ name: 'solo', model }), { app: 'app' });
    owners.defer(() => served.stop({ graceMs: 0 }));
    await mesh.sessions.createSession({ appName: 'app', userId: 'u', sessionId: 's' });
    await until(() => mesh.bus.directory.list('agent').length === 1, { what: 'the card of the agent' });
  });
  afterAll(async () => {
    await owners.disposeAsync();
    await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
  });

  const place = () => ({ env: { NATS_URL: config.natsUrl, REDIS_URL: config.redisUrl.reveal() } });
  const command = (...words: string[]) => linesOf(place(), words);
  const json = (...words: string[]) => jsonOf(place(), words);

  /** Sends runs of a session, by their message ids, to the agent `nobody`, which then leaves the mesh. */
  async function leaveBehind(session: string, runs: Record<string, unknown>): Promise<void> {
    await using queues = await openQueues({ url: config.natsUrl });
    await queues.add({ kind: 'run', name: 'nobody' });
    for (const [messageId, run] of Object.entries(runs))
      await mesh.bus.enqueue(mesh.subjects.agentRun('nobody', session), run, { messageId });
    await queues.remove({ kind: 'run', name: 'nobody' });
  }

  const bury = (payload: unknown, id: string, writer = 'solo') =>
    mesh.bus.enqueue(
      mesh.subjects.dead('agent', writer),
      {
        subject: mesh.subjects.agentRun('solo', 's'),
        payload,
        headers: {},
        error: { code: 'internal', message: 'it failed' },
        attempts: 6,
        replica: 'r',
        time: 1_700_000_000_000,
      },
      { messageId: id },
    );

  it('lists, shows, replays and removes dead letters', async () => {
    expect(await command('dead-letters', 'list')).toEqual(['there are none']);
    await bury({ invocationId: 'e-1', app: 'app', user: 'u', session: 's', message: 'hi' }, 'one');
    await bury('rubbish', 'two');
    expect(await command('dead-letters', 'list')).toEqual([
      '1  2023-11-14T22:13:20.000Z  mesh.v1.agent.solo.run.s  by agent solo  6 deliveries  internal: it failed',
      '2  2023-11-14T22:13:20.000Z  mesh.v1.agent.solo.run.s  by agent solo  6 deliveries  internal: it failed',
    ]);
    expect(await command('dead-letters', 'list', '1')).toHaveLength(1);
    expect(await json('dead-letters', 'list', '1')).toEqual([[expect.objectContaining({ seq: 2 })]]);
    expect(JSON.parse((await command('dead-letters', 'show', '2')).join(''))).toMatchObject({
      seq: 2,
      writer: { kind: 'agent', name: 'solo' },
      isForeign: false,
      letter: { payload: 'rubbish', attempts: 6 },
    });
    expect((await command('dead-letters', 'replay', '1'))[0]).toMatch(
      /^invocation e-.* of agent solo has begun$/,
    );
    const words = async () =>
      (await mesh.sessions.getSession({ appName: 'app', userId: 'u', sessionId: 's' }))?.events.map(
        ({ content }) => content?.parts?.[0]?.text,
      );
    await until(async () => (await words())?.length === 2, { what: 'the answer' });
    expect(await words()).toEqual(['hi', 'hello']);
    await expect(command('dead-letters', 'replay', '1')).rejects.toMatchObject({ code: 'not_found' });
    await expect(command('dead-letters', 'replay', '2')).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining('because its payload is no run command'),
    });
    await command('dead-letters', 'remove', '2');
    for (const word of ['show', 'replay', 'remove'])
      await expect(command('dead-letters', word, '99')).rejects.toThrow(
        'there is no dead letter 99; list them to see which there are',
      );
    expect(await command('dead-letters', 'list')).toEqual(['there are none']);
  });

  it('shows who wrote a dead letter, and replays none about the work of others', async () => {
    const run = { invocationId: 'e-1', app: 'app', user: 'u', session: 's', message: 'hi' };
    await bury(run, 'forged', 'other');
    const [line = ''] = await command('dead-letters', 'list');
    expect(line).toContain('by agent other (not of its queue: perhaps forged)  6 deliveries');
    const seq = line.split(' ')[0] ?? '';
    await expect(command('dead-letters', 'replay', seq)).rejects.toMatchObject({
      code: 'permission_denied',
      message: expect.stringContaining(
        'agent other wrote it about mesh.v1.agent.solo.run.s, which is not its own work',
      ),
    });
    await command('dead-letters', 'remove', seq);
  });

  it('lists cards, and removes those of services that are gone', async () => {
    await mesh.bus.announce({ kind: 'agent', name: 'ghost', app: 'ghost_app' });
    await until(() => mesh.bus.directory.get('agent', 'ghost'), { what: 'the card' });
    expect(await command('cards', 'list')).toEqual([
      'agent  ghost  0.0.0  app ghost_app  no replica',
      'agent  solo  0.0.0  app app  up',
    ]);
    expect(await json('cards', 'list')).toMatchObject([
      [
        { kind: 'agent', name: 'ghost', isUp: false },
        { kind: 'agent', name: 'solo', isUp: true },
      ],
    ]);
    expect(appNames(mesh)).toEqual(['app', 'ghost_app']);
    await expect(command('cards', 'remove', 'agent', 'solo')).rejects.toMatchObject({
      code: 'failed_precondition',
    });
    await expect(command('cards', 'remove', 'agent', 'nobody')).rejects.toMatchObject({ code: 'not_found' });
    expect(await command('cards', 'remove', 'agent', 'ghost')).toEqual(['the card of agent ghost is gone']);
    await until(() => !mesh.bus.directory.get('agent', 'ghost'), { what: 'the card to be forgotten' });
    expect(appNames(mesh)).toEqual(['app']);
  });

  it('shows runs that no agent takes, and moves them to the dead letters', async () => {
    expect(await command('orphans', 'list')).toEqual(['there are none']);
    const run = { invocationId: 'e-orphan', app: 'app', user: 'u', session: 's', message: 'hi' };
    await leaveBehind('s', { orphan: run });
    // The agent has left, so nothing more is accepted for it.
    const further = mesh.bus.enqueue(mesh.subjects.agentRun('nobody', 's'), run, { messageId: 'further' });
    await expect(further).rejects.toThrow('nothing of this name has a queue');
    expect(await command('orphans', 'list')).toEqual(['mesh.v1.agent.nobody.run.*  run  messages: 1']);
    expect(await json('orphans', 'list')).toMatchObject([[{ kind: 'run', count: 1 }]]);
    expect((await command('ls')).at(-1)).toBe(
      '1 message waits for agent nobody, which no service is; start the service (mesh.v1.agent.nobody.run.*; agentmesh orphans bury removes them)',
    );
    expect(await command('orphans', 'bury', 'mesh.v1.agent.nobody.run.*')).toEqual([
      '1 moved to the dead letters, 1 of them runs that have ended now',
    ]);
    expect(await command('orphans', 'list')).toEqual(['there are none']);
    const letters = await command('dead-letters', 'list');
    expect(letters).toHaveLength(1);
    expect(letters[0]).toContain('mesh.v1.agent.nobody.run.s  by operator nobody  0 deliveries  not_found');
    for (const line of letters) await command('dead-letters', 'remove', line.split(' ')[0] ?? '');
    await expect(command('orphans', 'bury', 'mesh.v1.agent.solo.run.*')).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('replays a buried run when an app can be found for it, and else says what is missing', async () => {
    await mesh.sessions.createSession({ appName: 'app', userId: 'u', sessionId: 'b' });
    await leaveBehind('b', { whole: { app: 'app', user: 'u', message: 'hi' } });
    await leaveBehind('new', { part: { user: 'u', message: 'hi' } });
    await command('orphans', 'bury', 'mesh.v1.agent.nobody.run.*');
    const [first, second] = (await command('dead-letters', 'list')).map((line) => line.split(' ')[0] ?? '');
    expect((await command('dead-letters', 'replay', first ?? ''))[0]).toMatch(/of agent solo has begun$/);
    await expect(command('dead-letters', 'replay', second ?? '')).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining('because its run names no app and no session;'),
    });
    await command('dead-letters', 'remove', second ?? '');
  });

  it('ends a run whose agent is gone, and lets the next run of its session go', async () => {
    const session = { appName: 'app', userId: 'u', sessionId: 'held' };
    const ref = { ...session, invocationId: 'e-gone' };
    await mesh.sessions.createSession(session);
    // The run has begun, and was handed over to an agent that is gone now.
    const taken = await mesh.sessions.leases.take(ref, { run: '{}', whenBusy: 'enqueue' });
    expect(taken.state).toBe('held');
    const run = { app: 'app', user: 'u', session: 'held' };
    const hop = { ...run, invocationId: 'e-gone', hop: 1 };
    await leaveBehind('held', { 'e-gone:1': hop, 'no-run': 'no run' });
    const next = { ...run, invocationId: 'e-next', message: 'hi' };
    await mesh.bus.enqueue(mesh.subjects.agentRun('solo', 'held'), next, { messageId: 'e-next:0' });
    const status = async () =>
      (await readInvocation(mesh, { ...session, invocationId: 'e-next' }).catch(() => undefined))?.status;
    await until(async () => (await status()) === 'waiting', { what: 'the next run to wait' });
    const told: unknown[] = [];
    await mesh.bus.subscribe(mesh.subjects.invocationWatch(everySession, 'e-gone'), (news) =>
      told.push(news.json()),
    );
    expect(await command('orphans', 'bury', 'mesh.v1.agent.nobody.run.*')).toEqual([
      '2 moved to the dead letters, 1 of them runs that have ended now',
    ]);
    const error = { code: 'not_found', message: expect.stringContaining('its agent nobody is gone') };
    expect(await mesh.sessions.invocations.get(ref)).toMatchObject({ status: 'failed', error });
    await until(() => told.length === 2, { what: 'the news of the end' });
    expect(told).toMatchObject([
      { author: 'nobody', errorCode: 'not_found' },
      { status: 'failed', lastSeq: 1, error },
    ]);
    const log = () => mesh.sessions.log.readEvents(ref);
    await until(async () => (await log()).length === 3, { what: 'the next run' });
    expect((await log()).map(({ event }) => [event.invocationId, event.errorCode])).toEqual([
      ['e-gone', 'not_found'],
      ['e-next', undefined],
      ['e-next', undefined],
    ]);
    for (const line of await command('dead-letters', 'list'))
      await command('dead-letters', 'remove', line.split(' ')[0] ?? '');
  });

  it('lists what work queues hold, and sweeps them', async () => {
    const queue = 'waiting: 0  ack pending: 0  ghosts: 0';
    await until(async () => (await command('streams', 'list')).every((line) => line.endsWith(queue)), {
      what: 'the end of the work',
    });
    expect(await command('streams', 'list')).toEqual(
      ['run', 'operation'].map((kind) => `${kind}  solo  kept: 0  ${queue}`),
    );
    expect(await json('streams', 'list')).toMatchObject([[{ kind: 'run', consumer: 'solo' }, {}]]);
    expect(await command('streams', 'sweep')).toEqual(['there is nothing to sweep; queues: 2']);
    expect(await json('streams', 'sweep')).toMatchObject([{ unclear: [], payloads: 0 }]);
  });

  it('cancels an invocation', async () => {
    model.hangs = true;
    const invocationId = 'e-cancel';
    const ref = { appName: 'app', userId: 'u', sessionId: 's', invocationId };
    await mesh.bus.enqueue(
      mesh.subjects.agentRun('solo', 's'),
      { invocationId, app: 'app', user: 'u', session: 's', message: 'wait' },
      { messageId: `${invocationId}:0` },
    );
    const log = () => mesh.sessions.log.readEvents(ref);
    await until(async () => (await log()).some(({ event }) => event.invocationId === invocationId), {
      what: 'the run to begin',
    });
    expect(await command('cancel', 'app', 'u', 's', invocationId)).toEqual(['told all who work on it']);
    await until(async () => (await mesh.sessions.invocations.get(ref)).status === 'failed', {
      what: 'the end',
    });
    expect((await log()).at(-1)?.event.errorCode).toBe('cancelled');
    expect(await command('cancel', 'app', 'u', 's', invocationId)).toEqual(['it has ended: cancelled']);
    expect(await json('cancel', 'app', 'u', 's', invocationId)).toEqual([
      { invocationId, status: 'cancelled' },
    ]);
  });

  it('exports and deletes the data of a user', async () => {
    const user = { appName: 'app', userId: 'gone' };
    await mesh.sessions.createSession({ ...user, sessionId: 's/1', state: { a: 1, 'user:b': 2 } });
    const ref = { ...user, sessionId: 's/1', filename: 'user:../../evil' };
    await mesh.artifacts.saveArtifact({ ...ref, artifact: { text: 'bytes' } });
    const folder = await mkdtemp(join(tmpdir(), 'agentmesh-export-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const [counts] = await command('user', 'export', 'app', 'gone', folder);
    expect(JSON.parse(counts ?? '')).toEqual({ user: 1, state: 1, session: 1, artifact: 1 });
    expect((await readdir(folder, { recursive: true })).sort()).toEqual([
      ...['files', 'files/000001-v0-evil', 'records.jsonl', 'sessions', 'sessions/s=2F1.json'],
    ]);
    const session = JSON.parse(await readFile(join(folder, 'sessions/s=2F1.json'), 'utf8'));
    expect(session).toEqual({ sessionId: 's/1', state: { a: 1 }, events: [] });
    await expect(command('user', 'delete', 'app', 'gone')).rejects.toThrow('say --yes');
    const second = join(folder, 'second');
    expect(await json('user', 'export', 'app', 'gone', second)).toMatchObject([{ session: 1 }]);
    const [deleted] = await command('user', 'delete', 'app', 'gone', '--yes');
    expect(JSON.parse(deleted ?? '')).toMatchObject({
      sessions: 1,
      artifacts: 1,
      stateKeys: 1,
      complete: true,
    });
    expect(await json('user', 'delete', 'app', 'gone', '--yes')).toMatchObject([{ sessions: 0 }]);
  });

  it.each([
    [['user', 'delete', 'app', '--yes']],
    [['user', 'delete', 'app', 'u', '--yess']],
    [['cards', 'remove', 'service', 'solo']],
    [['user', 'export', 'app', 'u']],
    [['nonsense']],
    [['dead-letters', 'show', 'x']],
    [['dead-letters', 'show']],
    [['cancel', 'app']],
  ])('says how it is used: %s', async (words) => {
    await expect(command(...words)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(words[0] === 'nonsense' ? '--help' : `usage: agentmesh ${words[0]}`),
    });
  });
});

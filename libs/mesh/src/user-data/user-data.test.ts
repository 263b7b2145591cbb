import {
  FunctionTool,
  InMemoryCredentialService,
  InMemoryMemoryService,
  InMemorySignInService,
  LlmAgent,
  LongRunningFunctionTool,
} from '@agentmesh/agent';
import { overrideSessions } from '@agentmesh/agent/internal';
import { until } from '@agentmesh/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startRun } from '../client/start-run.ts';
import { calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { remoteTool } from '../remote/remote-tool.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { serveTool } from '../serve/serve-tool.ts';
import { deleteUserData } from './delete-user-data.ts';
import { exportUserData, type UserRecord } from './export-user-data.ts';

const user = { appName: 'app', userId: 'u' };
const nothing = {
  ...{ sessions: 0, events: 0, artifacts: 0, memories: 0, credentials: 0, pending: 0 },
  ...{ callResults: 0, stateKeys: 0, complete: true },
};

async function stage(...answers: ConstructorParameters<typeof ScriptedLlm>) {
  const credentialService = new InMemoryCredentialService();
  const memory = new InMemoryMemoryService();
  const world = memoryMesh({
    credentials: { credentialService, signInService: new InMemorySignInService() },
    credentialRecords: credentialService,
    memory,
  });
  const look = new FunctionTool({ name: 'look', description: 'looks', execute: () => ({ seen: 1 }) });
  const work = Promise.withResolvers<object>();
  const slow = new LongRunningFunctionTool({
    name: 'slow',
    description: 'takes long',
    execute: () => work.promise as Promise<Record<string, unknown>>,
  });
  const served = [
    await serveTool(await world.connect('tool_look'), look),
    await serveTool(await world.connect('tool_slow'), slow, { patienceMs: 50 }),
  ];
  const agent = new LlmAgent({
    name: 'root',
    model: new ScriptedLlm(...answers),
    tools: [remoteTool('look'), remoteTool('slow')],
  });
  served.push(await serveAgent(await world.connect('agent_root'), agent, { app: 'app' }));
  onTestFinished(async () => {
    work.resolve({ status: 'completed' });
    for (const each of served) await each.stop({ graceMs: 0 });
  });
  const chat = await world.chat('app');
  /** Gives a user one record of every kind except sessions. */
  const give = async (userId: string) => {
    const owner = { appName: 'app', userId };
    const { artifacts } = chat.client;
    for (const filename of ['a.txt', 'user:b.txt']) {
      const ref = { ...owner, sessionId: 's1', filename };
      await artifacts.saveArtifact({ ...ref, artifact: { text: 'one' } });
      await artifacts.saveArtifact({ ...ref, artifact: { text: 'two' } });
    }
    await memory.addMemory({ ...owner, memories: [{ content: { parts: [{ text: 'tea' }] } }] });
    const exchangedAuthCredential = { authType: 'apiKey', apiKey: 'SECRET' } as const;
    const config = {
      credentialKey: 'maps',
      authScheme: { type: 'apiKey' },
      exchangedAuthCredential,
    } as const;
    await credentialService.saveCredential(config, owner);
    await world.sessions.createSession({ ...owner, sessionId: 's1', state: { a: 1, 'user:name': userId } });
  };
  return { ...world, ...chat, give, work };
}

const exported = (mesh: Mesh, userId = 'u') =>
  Array.fromAsync(exportUserData(mesh, { appName: 'app', userId }));
const kinds = (records: UserRecord[]) => records.map(({ kind }) => kind);

describe('the data of a user', () => {
  it('is exported without secrets', async () => {
    const { client, say, give } = await stage(calls('look'), says('done'));
    await give('u');
    await say('look');
    const records = await exported(client);
    expect(kinds(records).filter((kind) => kind !== 'event')).toEqual(
      'user state session session memory artifact artifact artifact artifact credential end'.split(' '),
    );
    expect(records.at(-1)).toEqual({
      kind: 'end',
      counts: { user: 1, state: 1, session: 2, event: 4, memory: 1, artifact: 4, credential: 1 },
    });
    expect(records).toContainEqual({ kind: 'state', state: { 'user:name': 'u' } });
    expect(records).toContainEqual({ kind: 'credential', credentialKey: 'maps', authType: 'apiKey' });
    expect(records).toContainEqual(
      expect.objectContaining({ kind: 'session', sessionId: 's1', initialState: { a: 1 }, firstSeq: 1 }),
    );
    expect(JSON.stringify(records)).not.toContain('SECRET');
    const texts = records.flatMap((record) =>
      record.kind === 'artifact' ? [record.open().then((stream) => new Response(stream).text())] : [],
    );
    expect((await Promise.all(texts)).sort()).toEqual(['one', 'one', 'two', 'two']);
  });

  it('is deleted, and that of another user is not', async () => {
    const { client, say, give, callResults } = await stage(calls('look'), says('done'));
    await Promise.all([give('u'), give('other')]);
    const forgotten: string[] = [];
    const { forget } = callResults;
    callResults.forget = async (...args) => {
      const was = await forget(...args);
      if (was) forgotten.push(args[0]);
      return was;
    };
    await say('look');
    const before = await exported(client, 'other');
    expect(await deleteUserData(client, user)).toEqual({
      ...{ sessions: 2, events: 4, artifacts: 2, memories: 1, credentials: 1, pending: 0 },
      ...{ callResults: 1, stateKeys: 1, complete: true },
    });
    expect(forgotten).toEqual(['look']);
    expect(kinds(await exported(client))).toEqual(['user', 'state', 'end']);
    expect(kinds(await exported(client, 'other'))).toEqual(kinds(before));
    expect(await deleteUserData(client, user)).toEqual(nothing);
  });

  it('is deleted with waiting and running work, whose later writes are not kept', async () => {
    const { client, say, work, jobs, lines } = await stage(calls('slow'), says('it has begun'));
    const { events } = await say('begin');
    expect(events.at(-1)?.content?.parts?.[0]?.text).toBe('it has begun');
    const kept: boolean[] = [];
    const { finish, forget } = jobs;
    let jobId = '';
    jobs.finish = async (...args) => finish(...args);
    jobs.forget = async (tool, job, final) => {
      jobId = job;
      const was = await forget(tool, job, final);
      if (tool === 'slow') kept.push(was);
      return was;
    };
    expect(await deleteUserData(client, user)).toMatchObject({ sessions: 1, pending: 1, callResults: 1 });
    expect(kept).toContain(true);
    work.resolve({ status: 'completed', secret: 'TOO LATE' });
    // The worker checks its job, and finds that it has ended.
    const state = () => jobs.take('slow', jobId, 'me', 1);
    await until(async () => (await state()).state === 'done');
    expect(JSON.stringify(await state())).not.toContain('TOO LATE');
    expect(kinds(await exported(client))).toEqual(['user', 'state', 'end']);
    expect(lines.filter((line) => line.includes('"level":50'))).toEqual([]);
  });

  it('is deleted with a run that joins the queue meanwhile, and its client is told', async () => {
    const { client, ref, sessions } = await stage();
    await sessions.leases.take({ ...ref, invocationId: 'e-other' }, { run: '', whenBusy: 'reject' });
    const run = await startRun(client, { app: 'app', user: 'u', session: ref.sessionId, message: 'wait' });
    await until(async () => (await sessions.users.runsIn(ref)).length === 2, { what: 'the waiting run' });
    let isEarly = true;
    const users = {
      async runsIn(of: typeof ref) {
        const found = isEarly ? [] : await sessions.users.runsIn(of);
        isEarly = false;
        return found;
      },
    };
    const mesh = { ...client, sessions: overrideSessions(client.sessions, { users }) };
    expect(await deleteUserData(mesh, user)).toMatchObject({ sessions: 1, complete: true });
    await Array.fromAsync(run.events);
    expect(await run.end).toMatchObject({ status: 'failed' });
  });

  it('is deleted in several passes while somebody writes, and the result says that it is incomplete', async () => {
    const { client, sessions, give } = await stage();
    await give('u');
    const { users } = sessions;
    let more = 2;
    const deleteRest = users.deleteRest;
    users.deleteRest = async (owner) => {
      const rest = await deleteRest.call(users, owner);
      more -= 1;
      if (more >= 0) await sessions.createSession({ ...user, sessionId: `late-${more}` });
      return rest;
    };
    expect(await deleteUserData(client, user)).toMatchObject({ sessions: 4, complete: true });
    more = 1_000;
    await give('u');
    expect(await deleteUserData(client, user)).toMatchObject({ complete: false });
  });

  it('is deleted completely by a second call after an interruption', async () => {
    const { client, give, callResults, say } = await stage(calls('look'), says('done'));
    await give('u');
    await say('look');
    const { forget } = callResults;
    callResults.forget = async () => {
      throw new Error('died');
    };
    await expect(deleteUserData(client, user)).rejects.toThrow('died');
    callResults.forget = forget;
    await deleteUserData(client, user);
    expect(kinds(await exported(client))).toEqual(['user', 'state', 'end']);
  });
});

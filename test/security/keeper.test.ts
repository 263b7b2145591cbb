import { createHash } from 'node:crypto';
import { createEvent } from '@agentmesh/agent';
import { connectNats } from '@agentmesh/bus';
import { MeshArtifactService, MeshKeeperArtifacts } from '@agentmesh/mesh';
import { casesOfTier, isLongTier } from '@agentmesh/testing/tiers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KeeperStage, startKeeperStage } from './keeper.fixture.ts';
import { type Form, names, users } from './stage.fixture.ts';

const agent = 'agent_document_agent';
const tool = 'tool_process_document';
const ann = { appName: 'document_app', userId: 'ann' };
const file = { ...ann, sessionId: 's', filename: 'report.txt' };
const others = [
  ['another session', { ...file, sessionId: 't' }],
  ['another user', { ...file, userId: 'bob' }],
  ["another user's own files", { ...file, userId: 'bob', filename: 'user:report.txt' }],
  ['another app', { ...file, appName: 'stock_app' }],
] as const;
const text = 'the secret of ann';

/** All that a service may do with a file. Each use tells whether it succeeded. */
const uses: Record<string, (artifacts: MeshKeeperArtifacts, ref: typeof file) => Promise<unknown>> = {
  list: (artifacts, ref) => artifacts.listArtifactKeys(ref),
  load: (artifacts, ref) => artifacts.loadArtifact(ref),
  versions: (artifacts, ref) => artifacts.listArtifactVersions(ref),
  metadata: (artifacts, ref) => artifacts.getArtifactVersion(ref),
  delete: (artifacts, ref) => artifacts.deleteArtifact({ ...ref, filename: `${ref.filename}.old` }),
  save: (artifacts, ref) =>
    artifacts.saveArtifact({ ...ref, filename: `${ref.filename}.new`, artifact: { text } }),
};

/** Returns the uses that a keeper allows. Any other error than a refusal fails the test. */
async function allowed(artifacts: MeshKeeperArtifacts, ref: typeof file): Promise<string[]> {
  const results = await Promise.all(
    Object.entries(uses).map(async ([name, use]) => {
      try {
        await use(artifacts, ref);
        return name;
      } catch (error) {
        expect(error).toMatchObject({ code: 'permission_denied' });
        return [];
      }
    }),
  );
  return results.flat();
}

const all = Object.keys(uses);
const forms = casesOfTier<Form>(['JWT', 'file']);

describe.each(forms)('files through a keeper, with accounts in the %s form', (form) => {
  let mesh: KeeperStage;
  let direct: MeshArtifactService;
  let count = 0;
  /** Begins a run of an agent in the session of the file. */
  const begin = async (root = 'document_agent', place: typeof file = file) => {
    const ref = { ...place, invocationId: `e-${++count}` };
    await mesh.sessions.leases.take(ref, { run: '', whenBusy: 'reject', agent: root });
    return ref;
  };
  const end = async (ref: Awaited<ReturnType<typeof begin>>) => {
    await mesh.sessions.invocations.end(ref, { status: 'completed' });
  };

  beforeAll(async () => {
    mesh = await startKeeperStage(form);
    const gateway = await connectNats({ ...mesh.stage.address('gateway'), service: 'gateway', cards: false });
    direct = new MeshArtifactService(gateway, names.artifactBucket);
    const refs = [file, ...others.map(([, ref]) => ref)];
    for (const ref of refs) {
      await direct.saveArtifact({ ...ref, artifact: { text } });
      if (!(await mesh.sessions.getSession(ref))) await mesh.sessions.createSession(ref);
    }
  }, 60_000);
  afterAll(() => mesh?.[Symbol.asyncDispose]());

  it('are for the services that use files: the others reach no keeper', async () => {
    const ref = await begin();
    const without = users.filter((user) => ![agent, tool, 'gateway', 'keeper'].includes(user));
    for (const user of without) expect(await allowed(await mesh.artifactsOf(user), file), user).toEqual([]);
    await end(ref);
  });

  it('are refused to a service without work, and to one whose work is elsewhere', async () => {
    const [toolFiles, agentFiles] = [await mesh.artifactsOf(tool), await mesh.artifactsOf(agent)];
    for (const each of [toolFiles, agentFiles]) expect(await allowed(each, file)).toEqual([]);
    const ref = await begin('stock_agent');
    await mesh.sessions.invocations.noteCall(ref, { id: 'c', tool: 'get_weather' });
    for (const each of [toolFiles, agentFiles]) expect(await allowed(each, file)).toEqual([]);
    await end(ref);
  });

  it('are those of a call of the tool until its result, and of no other session, user or app', async () => {
    const artifacts = await mesh.artifactsOf(tool);
    const ref = await begin();
    await mesh.sessions.invocations.noteCall(ref, { id: 'c1', tool: 'process_document' });
    expect(await allowed(artifacts, file)).toEqual(all);
    expect(await artifacts.loadArtifact(file)).toEqual({ text });
    expect(await allowed(artifacts, { ...file, filename: 'user:own.txt' })).toEqual(all);
    for (const [what, other] of others) expect(await allowed(artifacts, other), what).toEqual([]);
    await mesh.sessions.invocations.dropCall(ref, 'c1');
    expect(await allowed(artifacts, file)).toEqual([]);
    await mesh.sessions.invocations.noteCall(ref, { id: 'c2', tool: 'process_document' });
    expect(await allowed(artifacts, file)).toEqual(all);
    await end(ref);
    expect(await allowed(artifacts, file)).toEqual([]);
  });

  it('are those of a long-running call after the end of its run, until its answer', async () => {
    const artifacts = await mesh.artifactsOf(tool);
    for (const place of ['s', 'child']) {
      const run = await begin();
      const at = { ...run, sessionId: place };
      const session =
        (await mesh.sessions.getSession(at)) ?? (await mesh.sessions.createSession({ ...at, hidden: true }));
      const id = `job-${place}`;
      const call = { functionCall: { id, name: 'process_document', args: {} } };
      const { invocationId } = run;
      const asks = { invocationId, author: 'document_agent', longRunningToolIds: [id] };
      await mesh.sessions.appendEvent({
        session,
        event: createEvent({ ...asks, content: { role: 'model', parts: [call] } }),
      });
      await end(run);
      expect(await allowed(artifacts, file), place).toEqual(all);
      for (const [what, other] of others) expect(await allowed(artifacts, other), what).toEqual([]);
      const answer = { functionResponse: { id, name: 'process_document', response: { done: true } } };
      await mesh.sessions.appendEvent({
        session,
        event: createEvent({ invocationId, author: 'user', content: { role: 'user', parts: [answer] } }),
      });
      expect(await allowed(artifacts, file), place).toEqual([]);
    }
  });

  it('are those of a run of the agent, or of a run in which it was asked, until the end', async () => {
    const artifacts = await mesh.artifactsOf(agent);
    const own = await begin();
    expect(await allowed(artifacts, file)).toEqual(all);
    for (const [what, other] of others) expect(await allowed(artifacts, other), what).toEqual([]);
    await end(own);
    expect(await allowed(artifacts, file)).toEqual([]);
    const run = await begin('stock_agent');
    const part = JSON.stringify(['document_agent', '1', 'call-1']);
    const child = { ...run, sessionId: 'call-1' };
    await mesh.sessions.invocations.beginAttempt(child, part);
    expect(await allowed(artifacts, file)).toEqual(all);
    expect(await allowed(artifacts, { ...file, sessionId: 'call-1' })).toEqual([]);
    await mesh.sessions.invocations.closePart(child, part);
    expect(await allowed(artifacts, file)).toEqual([]);
    await end(run);
  });

  it('are not for a service that names another one as the asking service', async () => {
    const run = await begin();
    expect(await allowed(await mesh.artifactsOf(agent), file)).toEqual(all);
    const forged = await mesh.artifactsAs(tool, agent);
    expect(await allowed(forged, file)).toEqual([]);
    await end(run);
  });

  it('are reached by a service as its rights say, and never all of a user', async () => {
    const run = await begin();
    const [service, gateway] = [await mesh.connect(agent), await mesh.connect('gateway')];
    expect(gateway.artifacts).toBeInstanceOf(MeshArtifactService);
    const { artifacts } = service;
    expect(artifacts).toBeInstanceOf(MeshKeeperArtifacts);
    expect(await artifacts.loadArtifact(file)).toEqual({ text });
    await expect(artifacts.deleteAll(ann)).rejects.toMatchObject({ code: 'permission_denied' });
    const listed = Array.fromAsync(artifacts.listUserArtifacts(ann));
    await expect(listed).rejects.toMatchObject({ code: 'permission_denied' });
    await end(run);
  });

  it('are kept in pieces that no other service can add to or end', async () => {
    const run = await begin();
    await mesh.sessions.invocations.noteCall(run, { id: 'c', tool: 'process_document' });
    const request = async (service: string, body: object) => {
      const bus = await mesh.busOf(service);
      const place = { app: file.appName, user: file.userId, session: file.sessionId };
      const frames = bus.request(names.keeper(service), { ...place, filename: 'both', ...body });
      const last = (await Array.fromAsync(frames)).at(-1);
      return last?.type === 'result' ? (last.data as { place?: number; version?: number }) : {};
    };
    const upload = 'one-upload-of-both';
    const bytes = (word: string) => ({
      do: 'write',
      upload,
      index: 0,
      bytes: Buffer.from(word).toString('base64'),
    });
    const { place: first = 0 } = await request(agent, bytes('mine'));
    await request(tool, bytes('evil'));
    await request(tool, { ...bytes('evil'), index: 1 });
    const sha256 = (word: string) => createHash('sha256').update(word).digest('base64url');
    const about = { mimeType: 'text/plain', customMetadata: {}, part: {} };
    const pieces = { count: 1, first, size: 4, digest: sha256('mine') };
    const save = { do: 'save', upload, pieces, about };
    expect(await request(agent, save)).toEqual({ version: 0 });
    expect(await request(agent, save)).toEqual({ version: 0 });
    expect(await direct.loadArtifact({ ...file, filename: 'both' })).toEqual({ text: 'mine' });
    await end(run);
  });
});

describe('a service whose keeper is away', () => {
  it.runIf(isLongTier())(
    'waits for a keeper, and gets an error that says so when none comes',
    async () => {
      await using mesh = await startKeeperStage('file', { keepers: 0 });
      await mesh.sessions.createSession(file);
      const ref = { ...file, invocationId: 'e-1' };
      await mesh.sessions.leases.take(ref, { run: '', whenBusy: 'reject', agent: 'document_agent' });
      const artifacts = await mesh.artifactsOf(agent);
      const failed = artifacts.listArtifactKeys(file);
      await expect(failed).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining('no keeper answers within 15 s'),
      });
      const saved = artifacts.saveArtifact({ ...file, artifact: { text } });
      await using _keeper = await mesh.startKeeper();
      expect(await saved).toBe(0);
      expect(await artifacts.loadArtifact(file)).toEqual({ text });
    },
    60_000,
  );
});

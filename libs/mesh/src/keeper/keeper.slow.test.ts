import { createHash, randomUUID } from 'node:crypto';
import { InMemorySessionService } from '@agentmesh/agent';
import { artifactServiceConformance } from '@agentmesh/agent/conformance';
import { overrideSessions } from '@agentmesh/agent/internal';
import { MeshError, pieceBytes, subjects } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { MeshArtifactService } from '../artifacts/mesh-artifact-service.ts';
import { MeshKeeperArtifacts } from '../artifacts/mesh-keeper-artifacts.ts';
import { memoryMesh } from '../harness.fixture.ts';
import { hasWork } from './has-work.ts';
import { serveKeeper } from './serve-keeper.ts';

const names = subjects();
const ref = { appName: 'app', userId: 'u', sessionId: 's' };
const aboutText = { mimeType: 'text/plain', customMetadata: {}, part: {} };

/** A keeper for which an agent has work in every session, and every session exists until it is told otherwise. */
async function startOpenKeeper() {
  const { connect } = memoryMesh();
  const mesh = await connect('keeper');
  const work = { invocationId: 'e', agent: 'writer', parts: [], tools: [] };
  const store = { hasWork: true, hasSession: true, async onRead() {} };
  const sessions = overrideSessions(mesh.sessions, {
    invocations: { workIn: async () => (store.hasWork ? work : undefined) },
    users: {
      async hasSession() {
        await store.onRead();
        return store.hasSession;
      },
    },
  });
  const serving = await serveKeeper({ ...mesh, sessions });
  const direct = new MeshArtifactService(mesh.bus, names.artifactBucket);
  const { bus } = await connect('agent_writer');
  const service = new MeshKeeperArtifacts(bus, names);
  const ask = async (request: object) => {
    const frames = await Array.fromAsync(bus.request(names.keeper(bus.service), request));
    const last = frames.at(-1);
    if (last?.type !== 'result') throw MeshError.from(last);
    return last.data as { place?: number; version?: number };
  };
  return { serving, direct, service, store, ask, objects: mesh.bus.objects(names.artifactBucket) };
}

artifactServiceConformance('through a keeper', async () => {
  const { serving, direct, service } = await startOpenKeeper();
  return {
    // The files of a session or a user are deleted and listed by the gateway alone.
    service: Object.assign(service, {
      deleteAll: direct.deleteAll.bind(direct),
      listUserArtifacts: direct.listUserArtifacts.bind(direct),
    }),
    dispose: () => serving.stop(),
  };
});

describe('a file through a keeper', () => {
  it('fails to be read when it is deleted meanwhile', async () => {
    const { serving, direct, service } = await startOpenKeeper();
    const file = { ...ref, filename: 'f' };
    await service.saveArtifact({ ...file, artifact: { text: 'a'.repeat(600_000) } });
    const found = (await service.loadArtifactStream(file)) ?? expect.fail();
    const reader = found.stream.getReader();
    await reader.read();
    await direct.deleteArtifact(file);
    await expect(reader.read()).rejects.toMatchObject({ code: 'unavailable' });
    await serving.stop();
  });

  it.each([
    ['its run is cancelled', { hasWork: false }],
    ['its session is deleted', { hasWork: false, hasSession: false }],
  ])('leaves nothing when %s before its last piece', async (_what, change) => {
    const { serving, service, store, objects } = await startOpenKeeper();
    async function* pieces() {
      yield new Uint8Array(pieceBytes);
      expect(await objects.ids()).toHaveLength(1);
      Object.assign(store, change);
      yield new Uint8Array(pieceBytes);
    }
    const saving = service.saveArtifactStream({
      ...{ ...ref, filename: 'f' },
      stream: ReadableStream.from(pieces()),
    });
    await expect(saving).rejects.toMatchObject({ code: 'permission_denied' });
    expect(await objects.ids()).toEqual([]);
    await serving.stop();
  });

  it.each([
    ['a piece', 1],
    ['the version', 2],
  ])('leaves nothing when its session is deleted while %s is stored', async (_what, reads) => {
    const { serving, direct, service, store, objects } = await startOpenKeeper();
    let count = 0;
    store.onRead = async () => {
      count += 1;
      store.hasSession = count < reads;
    };
    const saving = service.saveArtifact({ ...ref, filename: 'f', artifact: { text: 'a' } });
    await expect(saving).rejects.toMatchObject({ code: 'permission_denied' });
    expect(count).toBe(reads);
    expect(await objects.ids()).toEqual([]);
    expect(await direct.listArtifactKeys(ref)).toEqual([]);
    await serving.stop();
  });

  it('that is taken back leaves the numbers of the other versions as they are', async () => {
    const { serving, direct, service, store, objects } = await startOpenKeeper();
    const file = { ...ref, filename: 'user:f' };
    await direct.saveArtifact({ ...file, artifact: { text: 'zero' } });
    let count = 0;
    store.onRead = async () => {
      count += 1;
      if (count === 1) return;
      expect(await direct.saveArtifact({ ...file, artifact: { text: 'two' } })).toBe(2);
      store.hasSession = false;
    };
    const saving = service.saveArtifact({ ...file, artifact: { text: 'one' } });
    await expect(saving).rejects.toMatchObject({ code: 'permission_denied' });
    expect(await direct.listVersions(file)).toEqual([0, 2]);
    for (const reader of [direct, service]) {
      expect(await reader.loadArtifact({ ...file, version: 1 })).toBeUndefined();
      expect(await reader.loadArtifact(file)).toEqual({ text: 'two' });
    }
    expect(await objects.ids()).toHaveLength(2);
    await direct.deleteArtifact(file);
    expect(await objects.ids()).toEqual([]);
    await serving.stop();
  });

  it('stays when its request comes again after the work and the session are gone', async () => {
    const { serving, direct, store, ask } = await startOpenKeeper();
    const place = { app: ref.appName, user: ref.userId, session: ref.sessionId, filename: 'user:f' };
    const bytes = Buffer.from('text');
    const upload = randomUUID();
    const written = await ask({ do: 'write', ...place, upload, index: 0, bytes: bytes.toString('base64') });
    const digest = createHash('sha256').update(bytes).digest('base64url');
    const pieces = { count: 1, first: written.place, size: bytes.length, digest };
    const save = { do: 'save', ...place, upload, pieces, about: aboutText };
    expect(await ask(save)).toEqual({ version: 0 });
    store.hasSession = false;
    await expect(ask(save)).rejects.toMatchObject({ code: 'permission_denied' });
    store.hasWork = false;
    await expect(ask(save)).rejects.toMatchObject({ code: 'permission_denied' });
    expect(await direct.loadArtifact({ ...ref, filename: 'user:f' })).toEqual({ text: 'text' });
    await serving.stop();
  });
});

describe('the work of a service', () => {
  it('is that of the run at work, and ends with it', async () => {
    const sessions = new InMemorySessionService();
    await sessions.createSession(ref);
    const run = { ...ref, invocationId: 'e' };
    const may = async () =>
      (
        await Promise.all(
          ['agent_root', 'agent_helper', 'tool_reader', 'tool_root', 'agent_reader', 'gateway'].map(
            async (service) => ((await hasWork(sessions, service, ref)) ? service : []),
          ),
        )
      ).flat();
    expect(await may()).toEqual([]);
    const delivery = { part: 'hop:0', message: 'm' };
    await sessions.leases.take(run, { run: 'r', whenBusy: 'reject', agent: 'root', delivery });
    expect(await may()).toEqual(['agent_root']);
    await sessions.invocations.beginAttempt(run, JSON.stringify(['helper', '1', 'c']));
    await sessions.invocations.noteCall(run, { id: 'c', tool: 'reader' });
    expect(await may()).toEqual(['agent_root', 'agent_helper', 'tool_reader']);
    expect(await hasWork(sessions, 'agent_root', { ...ref, userId: 'v' })).toBe(false);
    await sessions.invocations.end(run, { status: 'completed' });
    expect(await may()).toEqual([]);
  });
});

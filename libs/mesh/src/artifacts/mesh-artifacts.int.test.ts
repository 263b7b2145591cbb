import { InMemorySessionService } from '@agentmesh/agent';
import { artifactServiceConformance } from '@agentmesh/agent/conformance';
import { type Bus, connectNats, provision } from '@agentmesh/bus';
import { subjects } from '@agentmesh/protocol';
import { type Server, startNats } from '@agentmesh/testing/servers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { memoryMesh } from '../harness.fixture.ts';
import { meshSessions } from '../user-data/mesh-sessions.ts';
import { MeshArtifactService } from './mesh-artifact-service.ts';

const { artifactBucket } = subjects();
let server: Server;
let buses: Bus[] = [];
const serviceOf = (bus: Bus | undefined) =>
  new MeshArtifactService(bus ?? expect.fail('not connected'), artifactBucket);

beforeAll(async () => {
  server = await startNats();
  await provision({ url: server.url, agents: [] });
  const connect = (service: string) => connectNats({ url: server.url, service, cards: false });
  buses = await Promise.all(['one', 'two'].map(connect));
});
afterAll(async () => {
  await Promise.all(buses.map((bus) => bus[Symbol.asyncDispose]()));
  await server.stop();
});

artifactServiceConformance('NATS', async () => ({
  service: serviceOf(buses[0]),
  async dispose() {
    // Removes what the test left, whatever it did.
    for (const userId of ['u', 'u2']) await serviceOf(buses[0]).deleteAll({ appName: 'app', userId });
  },
}));

it('gives different versions to two processes that save one name at once', async () => {
  const file = { appName: 'app', userId: 'u', sessionId: 'both', filename: 'f' };
  const save = (n: number) => serviceOf(buses[n % 2]).saveArtifact({ ...file, artifact: { text: `${n}` } });
  const versions = await Promise.all(Array.from({ length: 40 }, (_, n) => save(n)));
  expect(new Set(versions).size).toBe(40);
  for (const [n, version] of versions.entries())
    expect(await serviceOf(buses[1 - (n % 2)]).loadArtifact({ ...file, version })).toEqual({ text: `${n}` });
  await serviceOf(buses[0]).deleteAll(file);
});

it('lists the files of one session without a look at those of others', async () => {
  const [bus] = buses;
  const asked: string[] = [];
  const records = bus?.records(artifactBucket) ?? expect.fail();
  const seen = {
    objects: () => ({
      ...(bus?.objects(artifactBucket) ?? expect.fail()),
      info: async () => expect.fail('an object was looked at'),
    }),
    records: () => ({
      ...records,
      keys: async () => expect.fail('the index of all was read'),
      async read(key: string) {
        asked.push(key);
        return await records.read(key);
      },
    }),
  };
  const file = { appName: 'app', userId: 'u', sessionId: 'mine', filename: 'f' };
  for (const sessionId of ['mine', 'other'])
    await serviceOf(bus).saveArtifact({ ...file, sessionId, artifact: { text: 'x' } });
  expect(await new MeshArtifactService(seen, artifactBucket).listArtifactKeys(file)).toEqual(['f']);
  expect(asked.toSorted()).toEqual(['app.u.session.mine', 'app.u.user']);
});

it('removes only what a process left that died during a save', async () => {
  const [bus] = buses;
  const file = { appName: 'app', userId: 'u', sessionId: 'swept', filename: 'f' };
  await serviceOf(bus).saveArtifact({ ...file, artifact: { text: 'kept' } });
  const ids = async () => (await bus?.objects(artifactBucket).ids()) ?? [];
  const before = await ids();
  const dying = await connectNats({ url: server.url, service: 'dying', cards: false });
  let sent = 0;
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      sent += 1;
      // The death of the process: nothing can be cleaned up.
      if (sent === 4) await dying[Symbol.asyncDispose]();
      controller.enqueue(new Uint8Array(100_000));
    },
  });
  const save = serviceOf(dying).saveArtifactStream({ ...file, stream });
  await expect(save).rejects.toMatchObject({ code: 'unavailable' });
  expect(await serviceOf(bus).listVersions(file)).toEqual([0]);
  expect(await ids()).toHaveLength(before.length + 1);
  // A process may still be writing to it.
  expect(await serviceOf(bus).sweep()).toBe(0);
  expect(await serviceOf(bus).sweep({ abandonedAfterMs: -1_000 })).toBe(1);
  expect((await ids()).toSorted()).toEqual(before.toSorted());
  expect(await serviceOf(bus).loadArtifact(file)).toEqual({ text: 'kept' });
  await serviceOf(bus).deleteAll(file);
});

it('removes the files of sessions that are gone, and the old files of one that is created again', async () => {
  const service = serviceOf(buses[0]);
  const file = { appName: 'app', userId: 'u', sessionId: 'gone', filename: 'f' };
  const sessions = meshSessions(new InMemorySessionService(), { ...memoryMesh(), artifacts: service });
  const lives = { ...file, sessionId: 'lives' };
  await sessions.createSession(lives);
  for (const ref of [file, lives]) await service.saveArtifact({ ...ref, artifact: { text: 'x' } });
  const isGone = async (ref: typeof lives | Omit<typeof lives, 'filename'>) =>
    (await sessions.getSession(ref)) === undefined;
  await service.sweep({ isGone });
  expect(await service.listVersions(file)).toEqual([0]);
  await service.sweep({ isGone, abandonedAfterMs: -1_000 });
  expect(await service.listVersions(file)).toEqual([]);
  expect(await service.listVersions(lives)).toEqual([0]);
  await service.saveArtifact({ ...file, artifact: { text: 'x' } });
  await sessions.createSession(file);
  expect(await service.listVersions(file)).toEqual([]);
  for (const ref of [file, lives]) await service.deleteAll(ref);
});

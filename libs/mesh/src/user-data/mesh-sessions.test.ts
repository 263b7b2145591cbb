import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  type ArtifactService,
  createEvent,
  FileArtifactService,
  InMemoryArtifactService,
  InMemorySessionService,
  type SessionService,
} from '@agentmesh/agent';
import { overrideSessions } from '@agentmesh/agent/internal';
import { MemoryHub } from '@agentmesh/bus';
import { describe, expect, it } from 'vitest';
import { MeshArtifactService } from '../artifacts/mesh-artifact-service.ts';
import { openArtifacts } from '../artifacts/open-artifacts.ts';
import { memoryMesh } from '../harness.fixture.ts';
import { meshSessions } from './mesh-sessions.ts';

const { callResults, jobs } = memoryMesh();
const withFiles = (sessions: SessionService, artifacts: ArtifactService) =>
  meshSessions(sessions, { artifacts, callResults, jobs });

const ref = { appName: 'app', userId: 'u', sessionId: 's' };

async function setUp() {
  const artifacts = new InMemoryArtifactService();
  const inner = new InMemorySessionService();
  const sessions = withFiles(inner, artifacts);
  await sessions.createSession(ref);
  for (const filename of ['own', 'user:kept'])
    await artifacts.saveArtifact({ ...ref, filename, artifact: { text: 'x' } });
  return { artifacts, inner, sessions };
}

describe('the deletion of a session', () => {
  it('deletes its files, and leaves those of the user', async () => {
    const { artifacts, sessions } = await setUp();
    await sessions.deleteSession(ref);
    expect(await sessions.getSession(ref)).toBeUndefined();
    expect(await artifacts.listArtifactKeys(ref)).toEqual(['user:kept']);
  });

  it('can be repeated after an interruption', async () => {
    const { artifacts, inner, sessions } = await setUp();
    const die = async () => {
      throw new Error('died');
    };
    const dying = withFiles(overrideSessions(inner, { deleteSession: die }), artifacts);
    await expect(dying.deleteSession(ref)).rejects.toThrow('died');
    // The session can still be found and deleted.
    expect(await sessions.getSession(ref)).toBeDefined();
    await sessions.deleteSession(ref);
    expect(await sessions.getSession(ref)).toBeUndefined();
  });

  it('deletes files that are saved meanwhile', async () => {
    const { artifacts, inner } = await setUp();
    const late = overrideSessions(inner, {
      async deleteSession() {
        await artifacts.saveArtifact({ ...ref, filename: 'late', artifact: { text: 'x' } });
        await inner.deleteSession(ref);
      },
    });
    await withFiles(late, artifacts).deleteSession(ref);
    expect(await artifacts.listArtifactKeys(ref)).toEqual(['user:kept']);
  });
});

it('deletes in the order of its steps', async () => {
  const done: string[] = [];
  const artifacts = new InMemoryArtifactService();
  const { deleteAll } = artifacts;
  artifacts.deleteAll = async (owner) => {
    done.push('files');
    return await deleteAll.call(artifacts, owner);
  };
  const inner = new InMemorySessionService();
  const store = overrideSessions(inner, {
    async deleteSession(of, options) {
      await inner.deleteSession(of, options);
      done.push('session');
    },
  });
  const kept = {
    artifacts,
    callResults: { ...callResults, forget: async () => done.push('result') > 0 },
    jobs: { ...jobs, forget: async () => done.push('job') > 0 },
  };
  const session = await inner.createSession(ref);
  const parts = [{ functionCall: { id: 'c', name: 'tool', args: {} } }];
  const event = createEvent({ invocationId: 'e-1', author: 'root', content: { role: 'model', parts } });
  await inner.appendEvent({ session, event });
  await meshSessions(store, kept).deleteSession(ref, {
    onEvents: async (_of, page) => void done.push(`page of ${page.length}`),
    onDeleted: (what, count) => void done.push(`${count} ${what}`),
  });
  expect(done).toEqual([
    'files',
    ...['0 callResults', 'page of 1'],
    ...['result', 'job', '2 callResults', 'page of 0'],
    'session',
    'files',
    '0 artifacts',
  ]);
});

describe('a session under the id of one that expired', () => {
  /** Makes files of a session that does not exist, in a store of either kind. */
  async function leftFiles(kind: string) {
    const bus = await new MemoryHub().connect({ service: 'test' });
    const artifacts = kind === 'mesh' ? new MeshArtifactService(bus, 'B') : new InMemoryArtifactService();
    const inner = new InMemorySessionService();
    const save = (filename: string) => artifacts.saveArtifact({ ...ref, filename, artifact: { text: 'x' } });
    await save('left');
    await save('user:kept');
    return { artifacts, inner, save, sessions: withFiles(inner, artifacts) };
  }

  it('has none of its files when it is got or created', async () => {
    const { artifacts, sessions } = await leftFiles('memory');
    await sessions.getOrCreateSession(ref);
    expect(await artifacts.listArtifactKeys(ref)).toEqual(['user:kept']);
  });

  it.each(['mesh', 'memory'])('has none of its files (%s)', async (kind) => {
    const { artifacts, sessions, save } = await leftFiles(kind);
    await sessions.createSession(ref);
    expect(await artifacts.listArtifactKeys(ref)).toEqual(['user:kept']);
    await save('own');
    await expect(sessions.createSession(ref)).rejects.toMatchObject({ code: 'already_exists' });
    expect(await artifacts.listArtifactKeys(ref)).toEqual(['own', 'user:kept']);
  });

  it.each(['mesh', 'memory'])(
    'is not made when its files cannot be removed, and then is (%s)',
    async (kind) => {
      const { artifacts, inner, sessions } = await leftFiles(kind);
      const die = async () => {
        throw new Error('died');
      };
      const dying = overrideSessions(inner, { createSession: die });
      await expect(withFiles(dying, artifacts).createSession(ref)).rejects.toThrow('died');
      expect(await inner.getSession(ref)).toBeUndefined();
      await sessions.createSession(ref);
      expect(await artifacts.listArtifactKeys(ref)).toEqual(['user:kept']);
    },
  );

  it('keeps files that it saved while another process was creating it too', async () => {
    const { artifacts, inner, sessions, save } = await leftFiles('mesh');
    const slow = overrideSessions(inner, {
      async getSession() {
        const found = await inner.getSession(ref);
        // The other process is faster with all its steps.
        await sessions.createSession(ref);
        await save('left');
        return found;
      },
    });
    const late = withFiles(slow, artifacts).createSession(ref);
    await expect(late).rejects.toMatchObject({ code: 'already_exists' });
    expect(await artifacts.listArtifactKeys(ref)).toEqual(['left', 'user:kept']);
  });
});

it('artifacts are kept in the configured place', async () => {
  const bus = await new MemoryHub().connect({ service: 'test' });
  expect(openArtifacts('nats', bus)).toBeInstanceOf(MeshArtifactService);
  const folder = await mkdtemp(join(tmpdir(), 'artifacts-'));
  const files = openArtifacts(pathToFileURL(folder).href, bus);
  expect(files).toBeInstanceOf(FileArtifactService);
  await files.saveArtifact({ ...ref, filename: 'f', artifact: { text: 'x' } });
  expect(await new FileArtifactService(folder).loadArtifact({ ...ref, filename: 'f' })).toEqual({
    text: 'x',
  });
  await rm(folder, { recursive: true });
});

import { InMemorySessionService } from '@agentmesh/agent';
import { artifactServiceConformance } from '@agentmesh/agent/conformance';
import { overrideSessions } from '@agentmesh/agent/internal';
import { subjects } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { MeshArtifactService } from '../artifacts/mesh-artifact-service.ts';
import { MeshKeeperArtifacts } from '../artifacts/mesh-keeper-artifacts.ts';
import { memoryMesh } from '../harness.fixture.ts';
import { hasWork } from './has-work.ts';
import { serveKeeper } from './serve-keeper.ts';

const names = subjects();
const ref = { appName: 'app', userId: 'u', sessionId: 's' };

/** A keeper for which an agent has work in every session. */
async function startOpenKeeper() {
  const { connect } = memoryMesh();
  const mesh = await connect('keeper');
  const work = { invocationId: 'e', agent: 'writer', parts: [], tools: [] };
  const sessions = overrideSessions(mesh.sessions, { invocations: { workIn: async () => work } });
  const serving = await serveKeeper({ ...mesh, sessions });
  const direct = new MeshArtifactService(mesh.bus, names.artifactBucket);
  const service = new MeshKeeperArtifacts((await connect('agent_writer')).bus, names);
  return { serving, direct, service };
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

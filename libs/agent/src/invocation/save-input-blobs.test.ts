import { runConfigSchema } from '@agentmesh/protocol';
import type { Part } from '@google/genai';
import { describe, expect, it } from 'vitest';
import type { ArtifactService } from '../artifacts/artifact-service.ts';
import { InMemoryArtifactService } from '../artifacts/in-memory-artifact-service.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { scriptedModel } from '../harness.fixture.ts';
import { InMemorySessionService } from '../sessions/in-memory/session-service.ts';
import { runInvocation } from './invocation.ts';

const ref = { appName: 'app', userId: 'u', sessionId: 's' };
const file = (text: string, displayName?: string): Part => ({
  inlineData: {
    mimeType: 'text/csv',
    data: Buffer.from(text).toString('base64'),
    ...(displayName !== undefined && { displayName }),
  },
});

/**
 * Runs a message in a session of its own, again after each crash; the first processes may die while they save
 * files.
 */
async function upload(parts: Part[], options: { artifactService?: ArtifactService; save?: boolean } = {}) {
  const sessionService = new InMemorySessionService();
  await sessionService.createSession(ref);
  const { llm, requests } = await scriptedModel({ text: 'thanks' });
  const agent = new LlmAgent({ name: 'root', model: llm });
  const { artifactService, save = true } = options;
  const run = async () => {
    const session = await sessionService.getSession(ref);
    if (!session) throw new Error('the session is gone');
    const events = runInvocation({
      agent,
      session,
      sessionService,
      invocationId: 'e-1',
      newMessage: { parts },
      runConfig: runConfigSchema.parse({ saveInputBlobsAsArtifacts: save }),
      ...(artifactService && { artifactService }),
    });
    return await Array.fromAsync(events);
  };
  return { run, requests };
}

describe('files in a message', () => {
  it('are saved as artifacts, and the message names them', async () => {
    const artifactService = new InMemoryArtifactService();
    const parts = [{ text: 'look:' }, file('a,b', 'table.csv'), file('c'), file('d', 'table.csv')];
    const { run, requests } = await upload(parts, { artifactService });
    const [message, answer] = await run();
    expect(message).toMatchObject({
      author: 'user',
      content: {
        role: 'user',
        parts: [
          { text: 'look:' },
          { text: '[Uploaded Artifact: "table.csv"]' },
          { text: '[Uploaded Artifact: "artifact_e-1_2"]' },
          { text: '[Uploaded Artifact: "artifact_e-1_3"]' },
        ],
      },
      actions: { artifactDelta: { 'table.csv': 0, 'artifact_e-1_2': 0, 'artifact_e-1_3': 0 } },
    });
    expect(answer?.content?.parts).toEqual([{ text: 'thanks' }]);
    expect(requests[0]?.contents).toEqual([message?.content]);
    expect(await artifactService.listArtifactKeys(ref)).toEqual([
      'artifact_e-1_2',
      'artifact_e-1_3',
      'table.csv',
    ]);
    expect(await artifactService.loadArtifact({ ...ref, filename: 'table.csv' })).toEqual(parts[1]);
  });

  it('are saved once when the process dies before the message is committed', async () => {
    const artifactService = new InMemoryArtifactService();
    let crashes = 2;
    const dying: ArtifactService = Object.create(artifactService, {
      saveArtifact: {
        value: async (request: Parameters<ArtifactService['saveArtifact']>[0]) => {
          const version = await artifactService.saveArtifact(request);
          if (crashes-- > 0) throw new Error('the process died');
          return version;
        },
      },
      listVersions: { value: artifactService.listVersions.bind(artifactService) },
      loadArtifact: { value: artifactService.loadArtifact.bind(artifactService) },
    });
    await artifactService.saveArtifact({ ...ref, filename: 'table.csv', artifact: file('older') });
    const { run } = await upload([file('a,b', 'table.csv'), file('c')], { artifactService: dying });
    await expect(run()).rejects.toThrow('died');
    await expect(run()).rejects.toThrow('died');
    const [message] = await run();
    expect(message?.actions.artifactDelta).toEqual({ 'table.csv': 1, 'artifact_e-1_1': 0 });
    expect(await artifactService.listVersions({ ...ref, filename: 'table.csv' })).toEqual([0, 1]);
    expect(await artifactService.listVersions({ ...ref, filename: 'artifact_e-1_1' })).toEqual([0]);
  });

  it('stay in the message without the option', async () => {
    const artifactService = new InMemoryArtifactService();
    const { run } = await upload([file('a')], { artifactService, save: false });
    expect((await run())[0]?.content?.parts).toEqual([file('a')]);
    expect(await artifactService.listArtifactKeys(ref)).toEqual([]);
  });

  it('are refused without an artifact service', async () => {
    const { run } = await upload([file('a')]);
    await expect(run()).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining('artifactService'),
    });
    const words = await upload([{ text: 'no file' }]);
    expect(await words.run()).toHaveLength(2);
  });
});

import {
  Context,
  InMemoryArtifactService,
  InMemoryMemoryService,
  type InvocationServices,
} from '@agentmesh/agent';
import { describe, expect, it } from 'vitest';
import { documentAnalysisTool } from './tool.ts';

const session = { id: 's1', appName: 'app', userId: 'u1', state: {} };
const place = { appName: 'app', userId: 'u1', sessionId: 's1' };
const text = 'Costs fell by a tenth.\nProfit rose in spring.';

async function analyse(services: InvocationServices, functionCallId = 'call-1') {
  const artifactService = services.artifactService ?? new InMemoryArtifactService();
  const origin = { invocationId: 'e-1', agentName: 'a', session, services: { ...services, artifactService } };
  const toolContext = new Context(origin, { functionCallId });
  const args = { documentName: 'report.txt', analysisQuery: 'profit in spring' };
  const response = await documentAnalysisTool.runAsync({ args, toolContext });
  const kept = await artifactService.loadArtifact({ ...place, filename: 'analysis_report.txt' });
  return { response, kept: kept?.text, delta: toolContext.actions.artifactDelta };
}

async function withReport(artifact: object = { text }) {
  const artifactService = new InMemoryArtifactService();
  await artifactService.saveArtifact({ ...place, filename: 'report.txt', artifact });
  return artifactService;
}

describe('process_document', () => {
  it('saves its findings as a new artifact', async () => {
    const { response, kept, delta } = await analyse({ artifactService: await withReport() });
    expect(response).toEqual({ status: 'success', analysisArtifact: 'analysis_report.txt', version: 0 });
    expect(kept).toBe('Asked for: profit in spring\nWords: 9\nLines about it:\n- Profit rose in spring.');
    expect(delta).toEqual({ 'analysis_report.txt': 0 });
  });

  it('reads a document that was uploaded as bytes', async () => {
    const data = Buffer.from(text).toString('base64');
    const artifactService = await withReport({ inlineData: { mimeType: 'text/plain', data } });
    expect((await analyse({ artifactService })).kept).toContain('- Profit rose in spring.');
  });

  it('uses memories if the mesh keeps them', async () => {
    const memoryService = new InMemoryMemoryService();
    const content = { role: 'user', parts: [{ text: 'Profit is what the board asks for.' }] };
    await memoryService.addMemory({ appName: place.appName, userId: place.userId, memories: [{ content }] });
    const { kept } = await analyse({ artifactService: await withReport(), memoryService });
    expect(kept).toContain('From earlier talks:\n- Profit is what the board asks for.');
  });

  it('names the existing documents when the document does not exist', async () => {
    const artifactService = new InMemoryArtifactService();
    await artifactService.saveArtifact({ ...place, filename: 'other.txt', artifact: { text } });
    const { response } = await analyse({ artifactService });
    expect(response).toMatchObject({ status: 'error', available: ['other.txt'] });
  });

  it('saves one analysis for a repeated call', async () => {
    const artifactService = await withReport();
    await analyse({ artifactService });
    expect((await analyse({ artifactService })).response).toMatchObject({ version: 0 });
    expect((await analyse({ artifactService }, 'call-2')).response).toMatchObject({ version: 1 });
  });
});

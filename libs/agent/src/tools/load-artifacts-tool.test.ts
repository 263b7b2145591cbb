import { describe, expect, it } from 'vitest';
import { InMemoryArtifactService } from '../artifacts/in-memory-artifact-service.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { chat, scriptedModel } from '../harness.fixture.ts';
import { loadArtifactsTool } from './load-artifacts-tool.ts';

const asking = (...artifact_names: unknown[]) => ({
  calls: [{ name: 'load_artifacts', args: { artifact_names } }],
});

async function reader(...replies: Parameters<typeof scriptedModel>) {
  const { llm, requests } = await scriptedModel(...replies);
  const artifactService = new InMemoryArtifactService();
  const agent = new LlmAgent({ name: 'reader', model: llm, tools: [loadArtifactsTool] });
  const talk = await chat(agent, undefined, { artifactService });
  const { id: sessionId } = await talk.stored();
  return {
    ...talk,
    save: (filename: string, artifact: object) =>
      artifactService.saveArtifact({ appName: 'app', userId: 'u', sessionId, filename, artifact }),
    bodies: () => requests as unknown[],
  };
}

const instructionOf = (body: unknown) =>
  JSON.stringify((body as { systemInstruction?: unknown }).systemInstruction);
const contentsOf = (body: unknown) => (body as { contents: { parts: object[] }[] }).contents;

describe('load_artifacts', () => {
  it('lists the files in the instruction, and shows requested ones only in the next request', async () => {
    const { say, save, bodies, stored } = await reader(
      asking('a.txt', 'p.png'),
      { text: 'fine' },
      { text: 'bye' },
    );
    await save('a.txt', {
      inlineData: { mimeType: 'text/csv', data: btoa('1;2') },
    });
    await save('user:p.png', { inlineData: { mimeType: 'image/png', data: 'AAEC' } });
    await say('what is in it?');
    await say('thanks');
    const [first, second, third] = bodies();
    expect(instructionOf(first)).toContain(
      JSON.stringify(JSON.stringify(['a.txt', 'user:p.png'])).slice(1, -1),
    );
    expect(
      contentsOf(second)
        .slice(-2)
        .map(({ parts }) => parts),
    ).toEqual([
      [{ text: 'Artifact a.txt is:' }, { text: '1;2' }],
      [{ text: 'Artifact user:p.png is:' }, { inlineData: { mimeType: 'image/png', data: 'AAEC' } }],
    ]);
    expect(JSON.stringify(contentsOf(third))).not.toContain('Artifact a.txt');
    expect(JSON.stringify((await stored()).events)).not.toContain('AAEC');
  });

  it('reports a missing file, one that is too large, and an invalid name', async () => {
    const { say, save, bodies } = await reader(asking('none', 'huge', 7, ''), { text: 'so be it' });
    await save('huge', { text: 'x'.repeat(15 * 1024 * 1024 + 1) });
    await say('show me');
    expect(
      contentsOf(bodies()[1])
        .slice(-2)
        .map(({ parts }) => parts),
    ).toEqual([
      [{ text: 'There is no artifact none.' }],
      [{ text: 'Artifact huge has 15728641 bytes: too many to be shown.' }],
    ]);
  });

  it('names type and size of files that models cannot read, and shows media', async () => {
    const pdf = { inlineData: { mimeType: 'application/pdf', data: 'AAEC' } };
    const { say, save, bodies } = await reader(asking('all.zip', 'raw', 'a.pdf'), { text: 'I see' });
    await save('all.zip', { inlineData: { mimeType: 'application/zip', data: btoa('PK12') } });
    await save('raw', { inlineData: { data: 'AA==' } });
    await save('a.pdf', pdf);
    await say('show me');
    expect(
      contentsOf(bodies()[1])
        .slice(-3)
        .map(({ parts }) => parts[1]),
    ).toEqual([
      { text: '[a file of type application/zip and 4 bytes, which cannot be shown to this model]' },
      { text: '[a file of type unknown and 1 bytes, which cannot be shown to this model]' },
      pdf,
    ]);
  });

  it('shows texts of any type and charset, and calls a picture by the name that the model knows', async () => {
    const { say, save, bodies } = await reader(asking('a.svg', 'b.txt', 'c.jpg', 'd.bmp'), { text: 'I see' });
    const inline = (mimeType: string, bytes: Buffer | string) => ({
      inlineData: { mimeType, data: Buffer.from(bytes).toString('base64') },
    });
    await save('a.svg', inline('image/svg+xml', '<svg/>'));
    await save('b.txt', inline('text/plain; charset=iso-8859-1', Buffer.from([0x67, 0x72, 0xfc, 0x6e])));
    await save('c.jpg', inline('image/jpg', 'x'));
    await save('d.bmp', inline('image/bmp', 'x'));
    await say('show me');
    expect(
      contentsOf(bodies()[1])
        .slice(-4)
        .map(({ parts }) => parts[1]),
    ).toEqual([
      { text: '<svg/>' },
      { text: 'grün' },
      { inlineData: { mimeType: 'image/jpeg', data: 'eA==' } },
      { text: '[a file of type image/bmp and 1 bytes, which cannot be shown to this model]' },
    ]);
  });

  it('adds nothing to the instruction without files', async () => {
    const { say, bodies } = await reader({ text: 'hi' });
    await say('hello');
    expect(instructionOf(bodies()[0]) ?? '').not.toContain('files');
  });
});

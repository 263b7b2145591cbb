import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lastText, restClient } from '../rest-client.ts';

let mesh: LocalMesh;
let client: ReturnType<typeof restClient>;

beforeAll(async () => {
  const needed = ['document_agent', 'process_document'];
  mesh = await launchMesh({
    services: samples.filter(({ manifest }) => needed.includes(manifest.name)),
    model: 'scripted',
  });
  client = restClient(mesh.gatewayUrl);
});
afterAll(() => mesh?.[Symbol.asyncDispose]());

const pathOf = (session: string) => `/apps/document_app/users/u1/sessions/${session}/artifacts`;

describe('document_app', () => {
  it('analyses an artifact in the process of the tool, and keeps the analysis as a new one', async () => {
    const session = await client.createSession('document_app');
    const text = 'Costs fell by a tenth.\nProfit rose in spring.';
    await client.send('POST', pathOf(session), { filename: 'report.txt', artifact: { text } });
    const events = await client.events('document_app', session, 'Read report.txt and look for profit.');
    expect(lastText(events)).toBe('The analysis is in analysis_report.txt, version 0.');
    expect(events[1]?.actions.artifactDelta).toEqual({ 'analysis_report.txt': 0 });
    const analysis = await client.send('GET', `${pathOf(session)}/analysis_report.txt`);
    expect(((await analysis.json()) as { text: string }).text).toContain('- Profit rose in spring.');
    const about = await client.send('GET', `${pathOf(session)}/analysis_report.txt/versions/0/metadata`);
    expect(await about.json()).toMatchObject({
      customMetadata: { of: { document: 'report.txt', version: 0 } },
    });
  });

  it("saves the files of a message when the run's configuration says so", async () => {
    const session = await client.createSession('document_app');
    const file = { inline_data: { mime_type: 'text/csv', data: 'YSxi', display_name: 'table.csv' } };
    await client.events('document_app', session, '', {
      newMessage: { parts: [file] },
      run_config: { save_input_blobs_as_artifacts: true },
    });
    // The agent has found the file, and had it analysed.
    const files = await client.send('GET', pathOf(session));
    expect(await files.json()).toEqual(['analysis_table.csv', 'table.csv']);
  });

  it('uses the words of an earlier session in memory', async () => {
    const earlier = await client.createSession('document_app');
    await client.events('document_app', earlier, 'The board asks for profit above all.');
    const added = await client.send('PATCH', '/apps/document_app/users/u1/memory', { sessionId: earlier });
    expect(added.status).toBe(200);
    const session = await client.createSession('document_app');
    await client.send('POST', pathOf(session), {
      filename: 'report.txt',
      artifact: { text: 'Profit rose.' },
    });
    await client.events('document_app', session, 'Read report.txt and look for profit.');
    const analysis = await client.send('GET', `${pathOf(session)}/analysis_report.txt`);
    const { text } = (await analysis.json()) as { text: string };
    expect(text).toContain('From earlier talks:\n- The board asks for profit above all.');
  });

  it('takes files as docs/artifacts.md shows', async () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/artifacts.md'), 'utf8');
    const [, commands = ''] = /```sh\n(curl -X PUT.*?)```/s.exec(page) ?? [];
    const cwd = mkdtempSync(join(tmpdir(), 'agentmesh-artifacts-'));
    writeFileSync(join(cwd, 'film.mp4'), 'not really');
    await client.send('POST', '/apps/document_app/users/u1/sessions/s1', {});
    const here = commands.replaceAll('localhost:8000', mesh.gatewayUrl);
    const { stdout } = await promisify(execFile)('bash', ['-ec', here], { cwd });
    rmSync(cwd, { recursive: true });
    expect(JSON.parse(stdout)).toMatchObject({ version: 0, mimeType: 'video/mp4', size: 10 });
  });

  it('names the existing documents when asked for a missing one', async () => {
    const session = await client.createSession('document_app');
    await client.send('POST', pathOf(session), { filename: 'other.txt', artifact: { text: 'x' } });
    const events = await client.events('document_app', session, 'What does report.txt say?');
    expect(lastText(events)).toBe('There is no such document; there are: other.txt.');
  });
});

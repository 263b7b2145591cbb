import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { spawnGuarded, startScriptedGemini } from '@agentmesh/testing';
import { describe, expect, it } from 'vitest';
import { examplePage, examplesFolder, examplesOf, withExamples } from '../example-page.ts';
import { scripts } from './programming-model.fixture.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, examplePage), 'utf8');
/** The files that other examples import and that run nothing themselves. */
const parts = ['chat', 'local-mesh'];
const examples = readdirSync(join(root, examplesFolder))
  .filter((name) => name.endsWith('.ts'))
  .map((name) => name.slice(0, -'.ts'.length))
  .filter((name) => !parts.includes(name));

/** Runs an example as a reader does, with a scripted model, and returns the output. */
async function run(name: string, env: Record<string, string> = {}): Promise<string> {
  const child = spawnGuarded([process.execPath, join(examplesFolder, `${name}.ts`)], {
    cwd: root,
    env: { ...process.env, GEMINI_API_KEY: 'scripted', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (!child.stdout || !child.stderr) throw new Error('no output');
  const [said, complained, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  if (code !== 0) throw new Error(`${name} ended with ${code}: ${complained}`);
  return said;
}

async function startModel(name: string) {
  const script = scripts[name];
  if (!script) throw new Error(`no script for ${name}`);
  return await startScriptedGemini({ script });
}

/** Starts a server of the chat completions interface with one answer. */
async function startOpenAi() {
  const server = createServer(async (request, response) => {
    const { model } = (await json(request)) as { model: string };
    const message = { role: 'assistant', content: 'Good day!' };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ model, choices: [{ index: 0, finish_reason: 'stop', message }] }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, [Symbol.dispose]: () => void server.close() };
}

const expected = (name: string) => join(root, examplesFolder, `${name}.txt`);

describe('the examples of docs/programming-model.md', () => {
  it.concurrent.for(examples.filter((name) => name !== 'streaming'))('%s', async (name, { expect }) => {
    await using model = await startModel(name);
    using openAi = await startOpenAi();
    const output = await run(name, {
      GOOGLE_GEMINI_BASE_URL: model.url,
      OPENAI_BASE_URL: openAi.url,
      OPENAI_API_KEY: 'scripted',
    });
    await expect(output).toMatchFileSnapshot(expected(name));
  });

  it.concurrent('streaming', async ({ expect }) => {
    await using model = await startModel('streaming');
    const services = samples.filter(({ manifest }) => /^(assistant|summary)_agent$/.test(manifest.name));
    const env = { GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_API_KEY: 'scripted' };
    await using mesh = await launchMesh({ services, env });
    const output = await run('streaming', { MESH_HTTP_PORT: new URL(mesh.gatewayUrl).port });
    await expect(output).toMatchFileSnapshot(expected('streaming'));
  });

  it('are all on the page with their output; node test/write-docs.ts updates it', () => {
    expect(examplesOf(page).toSorted()).toEqual([...examples, ...parts].toSorted());
    expect(page).toBe(withExamples(page));
  });
});

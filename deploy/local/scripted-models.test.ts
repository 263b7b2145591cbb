import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FunctionTool } from '@agentmesh/agent';
import { toolManifest } from '@agentmesh/mesh';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startScriptedModels } from './scripted-models.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const manifest = toolManifest(new FunctionTool({ name: 'any', description: 'any', execute: () => ({}) }));
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agentmesh-scripts-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Makes a service in a folder of its own, with this text as its script. */
async function service(name: string, script?: string) {
  await mkdir(join(folder, name, 'src'), { recursive: true });
  if (script !== undefined) await writeFile(join(folder, name, 'src/script.fixture.ts'), script);
  return { manifest, folder: relative(root, join(folder, name)) };
}

it('serves the script of each service as Gemini, and gives it no real key', async () => {
  const one = await service('one', "export const script = () => ({ text: 'one' });");
  const two = await service('two', "export const script = () => ({ text: 'two' });");
  const none = await service('none');
  await using models = await startScriptedModels([one, two, none]);
  for (const each of [one, two]) {
    const env = models.environmentOf(each);
    expect(env).toMatchObject({ MESH_MODEL: 'scripted', GEMINI_API_KEY: 'scripted' });
    const response = await fetch(`${env?.GOOGLE_GEMINI_BASE_URL}/v1beta/models/any:generateContent`, {
      method: 'POST',
      body: JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }),
    });
    expect(await response.text()).toContain(each === one ? '"one"' : '"two"');
  }
  expect(models.environmentOf(none)).toBeUndefined();
});

it('names a file without a script', async () => {
  const wrong = await service('wrong', 'export const answers = [];');
  await expect(startScriptedModels([wrong])).rejects.toThrow(
    /wrong\/src\/script\.fixture\.ts must export the function script/,
  );
});

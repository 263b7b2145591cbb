import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { readDefinitions } from './definitions.ts';

const folder = mkdtempSync(join(tmpdir(), 'agentmesh-definitions-'));
afterAll(() => rmSync(folder, { recursive: true }));

function moduleOf(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

const foreignTool = 'class BaseTool {}\nclass FunctionTool extends BaseTool {}\n';
const foreignApp = 'class BaseAgent {}\nclass App { rootAgent = new BaseAgent(); }\n';

it.each([
  ['tool', `${foreignTool}export const clock = new FunctionTool();`],
  ['app', `${foreignApp}export const app = new App();`],
])('refuses the %s of another copy of the library, instead of leaving it out', async (kind, text) => {
  const file = moduleOf(`${kind}.mjs`, text);
  await expect(readDefinitions(file)).rejects.toThrow(
    `${file} uses another copy of @agentmesh/agent than this command`,
  );
});

it('leaves out what is neither an agent nor a tool', async () => {
  const file = moduleOf(
    'others.mjs',
    'class App {}\nexport const app = new App();\nexport const names = [1, null];',
  );
  await expect(readDefinitions(file)).rejects.toThrow('defines no service; export an agent or a tool');
});

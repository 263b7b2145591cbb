import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { endProcess, freePort, spawnGuarded } from '@agentmesh/testing';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/web-ui.md'), 'utf8');

it('docs/web-ui.md shows how to start a mesh with the web UI, whose address is printed', async () => {
  const [, command = ''] = /```sh\n(.*?)```/s.exec(page) ?? [];
  const data = mkdtempSync(join(tmpdir(), 'agentmesh-web-ui-'));
  const env = { ...process.env, MESH_HTTP_PORT: String(await freePort()), MESH_DATA_DIR: data };
  const mesh = spawnGuarded(['bash', '-c', `exec env ${command}`], {
    ...{ cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] },
  });
  try {
    const lines: string[] = [];
    if (!mesh.stdout) throw new Error('no output');
    for await (const line of createInterface(mesh.stdout)) {
      lines.push(line);
      if (line.startsWith('Ctrl-C')) break;
    }
    const [, address = ''] = /web UI +(\S+)/.exec(lines.join('\n')) ?? [];
    const answer = await fetch(address);
    expect(await answer.text()).toContain('<title>Agent Development Kit Dev UI</title>');
  } finally {
    await endProcess(mesh, 'SIGTERM', 40_000);
    rmSync(data, { recursive: true, force: true });
  }
});

import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { expect, it } from 'vitest';

const page = readFileSync(join(import.meta.dirname, '../../docs/coming-back.md'), 'utf8');

it('docs/coming-back.md shows with curl how to come back', async () => {
  const [, commands = ''] = /```sh\n(.*?)```/s.exec(page) ?? [];
  await using mesh = await launchMesh({
    services: samples.filter(({ manifest }) => manifest.name === 'stock_agent'),
    model: 'scripted',
  });
  const cwd = mkdtempSync(join(tmpdir(), 'agentmesh-coming-back-'));
  const here = commands.replaceAll('localhost:8000', mesh.gatewayUrl);
  const { stdout } = await promisify(execFile)('bash', ['-ec', here], { cwd });
  rmSync(cwd, { recursive: true });
  expect([...stdout.matchAll(/^id: (\d+)$/gm)].map(([, id]) => id)).toEqual(['2', '3', '4']);
  expect(stdout).toContain('GOOG stands at $182.4.');
  expect(stdout).toMatch(/\{"invocationId":"e-[^"]+","lastSeq":4,"status":"completed","llmCalls":2\}$/);
});

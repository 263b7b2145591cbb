import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { lockFolder } from '@agentmesh/deploy/data-lock';
import { launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');

describe('the launcher', () => {
  it('finds every agent and tool of the repository by its definition', () => {
    expect(samples.map(({ manifest }) => manifest.name).sort()).toEqual([
      'ask_for_approval',
      'assistant_agent',
      'customer_agent',
      'document_agent',
      'file_agent',
      'get_weather',
      'process_document',
      'process_large_file',
      'reimburse',
      'reimbursement_agent',
      'stock_agent',
      'summary_agent',
      'support_agent',
      'time_off_agent',
      'weather_agent',
    ]);
  });

  it('ends with the reason of a service that cannot start, and leaves none of the others', async () => {
    const [stock, ...others] = samples;
    if (!stock) throw new Error('no sample');
    // Its process logs in as a user that may not do what it wants to.
    const wrong = { ...stock, manifest: { ...stock.manifest, name: 'somebody_else' } };
    await expect(launchMesh({ services: [wrong, ...others.slice(0, 2)] })).rejects.toThrow(
      /somebody_else could not start: .*may not/,
    );
  });

  it('says so when Redis is not there, before it starts anything', async () => {
    await expect(launchMesh({ redisUrl: 'redis://127.0.0.1:1' })).rejects.toThrow(/redis/i);
  });

  it('does not start a second mesh on the same data', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'agentmesh-lock-'));
    {
      await using _first = await lockFolder(folder);
      await expect(lockFolder(folder)).rejects.toThrow(/already runs/);
    }
    await using _next = await lockFolder(folder);
    rmSync(folder, { recursive: true });
  });

  it('refuses a setting that nobody knows', async () => {
    const env = { ...process.env, MESH_HTTP_PROT: '1' };
    const started = promisify(execFile)(process.execPath, ['deploy/local/demo.ts'], { cwd: root, env });
    await expect(started).rejects.toMatchObject({
      stderr: expect.stringContaining('MESH_HTTP_PROT is no setting'),
    });
  });
});

describe('docs/examples/one-process.ts', () => {
  it('runs without any server', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['docs/examples/one-process.ts'], {
      cwd: root,
    });
    expect(stdout).toBe('dice_agent: The dice say 1.\n');
  });
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { lockFolder } from './data-lock.ts';

it('locks a folder once, and takes the lock of an earlier process with the same number over', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'agentmesh-lock-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  // A container that starts again has the same numbers.
  writeFileSync(join(folder, 'mesh.pid'), String(process.pid));
  const lock = await lockFolder(folder);
  await expect(lockFolder(folder)).rejects.toMatchObject({
    code: 'failed_precondition',
    message: expect.stringMatching(/process \d+\): .*; if no mesh runs there, remove .*mesh\.pid$/),
  });
  await lock[Symbol.asyncDispose]();
  await (await lockFolder(folder))[Symbol.asyncDispose]();
  writeFileSync(join(folder, 'mesh.pid'), '1');
  await expect(lockFolder(folder)).rejects.toMatchObject({ code: 'failed_precondition' });
});

import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { assertArtifacts } from './artifact-folder.ts';

const refused = { code: 'failed_precondition', message: expect.stringContaining('MESH_ARTIFACTS') };
const hrefOf = (path: string) => pathToFileURL(path).href;

it('accepts a writable folder, creates a missing one, and leaves nothing in it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'artifacts-'));
  await assertArtifacts('nats');
  await assertArtifacts(hrefOf(join(folder, 'new')));
  expect(await readdir(folder, { recursive: true })).toEqual(['new']);
  await rm(folder, { recursive: true });
});

it('names the variable of a folder that cannot be used', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'artifacts-'));
  const file = join(folder, 'file');
  await writeFile(file, '');
  await expect(assertArtifacts(hrefOf(file))).rejects.toMatchObject(refused);
  await expect(assertArtifacts(hrefOf(join(file, 'below')))).rejects.toMatchObject(refused);
  await expect(assertArtifacts('file://host/x')).rejects.toMatchObject(refused);
  await rm(folder, { recursive: true });
});

it('does not wait for ever for a folder that does not answer', async () => {
  const hangs = assertArtifacts('file:///mount', () => new Promise(() => {}), 1);
  await expect(hangs).rejects.toMatchObject(refused);
});

import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { artifactServiceConformance } from '../conformance/artifacts/artifact-service.ts';
import { FileArtifactService } from './file-artifact-service.ts';

async function inFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'artifacts-'));
  return {
    folder,
    service: new FileArtifactService(folder),
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
}

artifactServiceConformance('files', inFolder);

const file = { appName: 'app', userId: 'u', sessionId: 's', filename: 'f' };
const everything = async (folder: string) => (await readdir(folder, { recursive: true })).toSorted();

describe('the folder of files', () => {
  it('holds what another service saved there, and versions of both', async () => {
    const { folder, service, dispose } = await inFolder();
    const other = new FileArtifactService(folder);
    const saves = Array.from({ length: 20 }, (_, n) =>
      (n % 2 === 0 ? service : other).saveArtifact({ ...file, artifact: { text: String(n) } }),
    );
    const versions = await Promise.all(saves);
    expect(new Set(versions).size).toBe(20);
    expect(await other.loadArtifact({ ...file, version: versions[0] })).toEqual({ text: '0' });
    await dispose();
  });

  it('has nothing outside of its two parts, whatever names are', async () => {
    const { folder, service, dispose } = await inFolder();
    const place = { appName: '../../..', userId: '/', sessionId: '..' };
    for (const filename of ['../../../../x', '/etc/x', 'user:../x'])
      await service.saveArtifact({ ...place, filename, artifact: { text: 'x' } });
    const paths = await everything(folder);
    expect(paths.filter((path) => !/^(files|unfinished)(\/[a-z0-9.-]+)*$/.test(path))).toEqual([]);
    expect(paths.filter((path) => path.split('/').some((part) => /^\.+$/.test(part)))).toEqual([]);
    await dispose();
  });

  it('is empty when all is deleted', async () => {
    const { folder, service, dispose } = await inFolder();
    for (const filename of ['a', 'b', 'user:c'])
      await service.saveArtifact({ ...file, filename, artifact: { text: 'x' } });
    await service.deleteAll(file);
    await service.deleteAll({ appName: 'app', userId: 'u' });
    expect(await everything(folder)).toEqual(['files', 'unfinished']);
    await dispose();
  });

  it('removes what a process began that died long ago, and not what is being written', async () => {
    const { folder, service, dispose } = await inFolder();
    await service.saveArtifact({ ...file, artifact: { text: 'x' } });
    const never = () => new Promise<void>(() => {});
    const stuck = (text: string) =>
      new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(Buffer.from(text)),
        pull: never,
      });
    for (const text of ['old', 'new']) void service.saveArtifactStream({ ...file, stream: stuck(text) });
    const unfinished = join(folder, 'unfinished');
    await expect.poll(() => everything(unfinished)).toHaveLength(4);
    const [old, young] = await readdir(unfinished);
    await utimes(join(unfinished, old ?? ''), 0, 0);
    const next = new FileArtifactService(folder);
    expect(await next.saveArtifact({ ...file, artifact: { text: 'y' } })).toBe(1);
    expect(await readdir(unfinished)).toEqual([young]);
    await dispose();
  });
});

import { describe, expect, it } from 'vitest';
import type { ArtifactService } from '../../artifacts/artifact-service.ts';
import { bytesIn, hashOf, type WithService } from './artifact-bytes.ts';
import { deletingAll, keepingMetadata, savingAtOnce } from './artifact-metadata.ts';
import { streaming } from './artifact-streams.ts';

/** Tests that every artifact service must pass. */
export function artifactServiceConformance(
  name: string,
  make: () => Promise<{ service: ArtifactService; dispose(): Promise<void> }>,
): void {
  const place = { appName: 'app', userId: 'u', sessionId: 's' };
  const withService: WithService = (run) => async () => {
    const { service, dispose } = await make();
    try {
      await run(service);
    } finally {
      await dispose();
    }
  };

  describe(`artifact service: ${name}`, () => {
    it(
      'counts versions from 0 and loads the latest, or the one asked for',
      withService(async (service) => {
        const file = { ...place, filename: 'report.txt' };
        expect(await service.saveArtifact({ ...file, artifact: { text: 'one' } })).toBe(0);
        expect(await service.saveArtifact({ ...file, artifact: { text: 'two' } })).toBe(1);
        expect(await service.loadArtifact(file)).toEqual({ text: 'two' });
        expect(await service.loadArtifact({ ...file, version: 0 })).toEqual({ text: 'one' });
        expect(await service.loadArtifact({ ...file, version: 2 })).toBeUndefined();
        expect(await service.listVersions(file)).toEqual([0, 1]);
      }),
    );

    it(
      'keeps bytes as they are',
      withService(async (service) => {
        const artifact = {
          inlineData: { mimeType: 'image/png', data: Buffer.from([0, 255, 7]).toString('base64') },
        };
        await service.saveArtifact({ ...place, filename: 'a.png', artifact });
        expect(await service.loadArtifact({ ...place, filename: 'a.png' })).toEqual(artifact);
      }),
    );

    it(
      'keeps parts of every kind as they are, and bytes of every size',
      withService(async (service) => {
        const parts = [
          { text: '' },
          { text: 'ü\r\n\0💾' },
          { inlineData: { mimeType: 'text/plain; charset=utf-8', data: '' } },
          { inlineData: { mimeType: 'a/b', data: 'AA==', displayName: 'ä.bin' } },
          { fileData: { fileUri: 'gs://bucket/x', mimeType: 'video/mp4' } },
          { inlineData: { mimeType: 'a/b', data: bytesIn(300_001).toString('base64') } },
        ];
        for (const [version, artifact] of parts.entries()) {
          expect(await service.saveArtifact({ ...place, filename: 'p', artifact })).toBe(version);
          expect(await service.loadArtifact({ ...place, filename: 'p', version })).toEqual(artifact);
        }
        const { mimeType, size } =
          (await service.getArtifactVersion({ ...place, filename: 'p', version: 1 })) ?? {};
        expect({ mimeType, size }).toEqual({ mimeType: 'text/plain', size: 10 - 1 });
        expect(hashOf(bytesIn(3))).not.toBe(hashOf(bytesIn(4)));
      }),
    );

    it(
      'shares names with user: among the sessions of a user, and no others',
      withService(async (service) => {
        await service.saveArtifact({ ...place, filename: 'user:photo', artifact: { text: 'p' } });
        await service.saveArtifact({ ...place, filename: 'own', artifact: { text: 'o' } });
        const other = { ...place, sessionId: 's2' };
        expect(await service.loadArtifact({ ...other, filename: 'user:photo' })).toEqual({ text: 'p' });
        expect(await service.loadArtifact({ ...other, filename: 'own' })).toBeUndefined();
        expect(await service.listArtifactKeys(other)).toEqual(['user:photo']);
        expect(await service.listArtifactKeys(place)).toEqual(['own', 'user:photo']);
        expect(await service.listArtifactKeys({ ...place, userId: 'u2' })).toEqual([]);
      }),
    );

    it(
      'does not mix up owners whose names run together, and takes any file name',
      withService(async (service) => {
        const strange = [
          ...['a/b', '../../etc/passwd', 'a b', 'ü*>', 'x.y', '__proto__', '\0', 'C:\\x', 'CON'],
          ...['a', 'A', '💾', ' ', '*', '>', '$O.x', 'user', 'users:x', '=', 'x'.repeat(512), '\r\nINJECT'],
        ];
        for (const filename of strange)
          await service.saveArtifact({ ...place, filename, artifact: { text: filename } });
        expect(await service.listArtifactKeys(place)).toEqual(strange.toSorted());
        for (const filename of strange)
          expect(await service.loadArtifact({ ...place, filename })).toEqual({ text: filename });
        const owners = [
          { appName: 'a:b', userId: 'c', sessionId: 's' },
          { appName: 'a', userId: 'b:c', sessionId: 's' },
          { appName: 'a', userId: 'b', sessionId: 'c' },
          { appName: 'a.b', userId: 'c', sessionId: 's' },
          { appName: 'a', userId: 'b.c', sessionId: 's' },
          { appName: 'a', userId: '*', sessionId: 's' },
          { appName: 'a', userId: '>', sessionId: '../u' },
          { appName: '..', userId: '..', sessionId: '..' },
          { appName: 'a', userId: 'b', sessionId: 'user' },
        ];
        for (const owner of owners)
          await service.saveArtifact({ ...owner, filename: 'f', artifact: { text: JSON.stringify(owner) } });
        for (const owner of owners) {
          const found = await service.loadArtifact({ ...owner, filename: 'f' });
          expect(found).toEqual({ text: JSON.stringify(owner) });
          expect(await service.listArtifactKeys(owner)).toEqual(['f']);
          expect(await service.listVersions({ ...owner, filename: 'f' })).toEqual([0]);
        }
      }),
    );

    it(
      'deletes all versions, and what is not there without a word',
      withService(async (service) => {
        const file = { ...place, filename: 'f' };
        await service.saveArtifact({ ...file, artifact: { text: 'x' } });
        await service.deleteArtifact(file);
        await service.deleteArtifact(file);
        expect(await service.loadArtifact(file)).toBeUndefined();
        expect(await service.listVersions(file)).toEqual([]);
      }),
    );

    it(
      'refuses an artifact without name or content',
      withService(async (service) => {
        const save = (filename: string, artifact: object) =>
          service.saveArtifact({ ...place, filename, artifact });
        await expect(save('', { text: 'x' })).rejects.toMatchObject({ code: 'invalid_argument' });
        await expect(save('user:', { text: 'x' })).rejects.toMatchObject({ code: 'invalid_argument' });
        await expect(save('x'.repeat(513), { text: 'x' })).rejects.toMatchObject({
          code: 'invalid_argument',
        });
        await expect(save('\ud800', { text: 'x' })).rejects.toMatchObject({ code: 'invalid_argument' });
        await expect(save('f', {})).rejects.toMatchObject({ code: 'invalid_argument' });
        const load = service.loadArtifact({ ...place, filename: 'f', version: -1 });
        await expect(load).rejects.toMatchObject({ code: 'invalid_argument' });
        expect(await service.listArtifactKeys(place)).toEqual([]);
      }),
    );

    keepingMetadata(withService);
    streaming(withService);
    deletingAll(withService);
    savingAtOnce(withService);

    it(
      'gives each caller a copy of its own',
      withService(async (service) => {
        const artifact = { text: 'x' };
        await service.saveArtifact({ ...place, filename: 'f', artifact });
        artifact.text = 'changed';
        const first = await service.loadArtifact({ ...place, filename: 'f' });
        if (first) first.text = 'changed too';
        expect(await service.loadArtifact({ ...place, filename: 'f' })).toEqual({ text: 'x' });
      }),
    );
  });
}

import { describe, expect, it } from 'vitest';
import type { ArtifactService } from '../artifacts/artifact-service.ts';

/** What every artifact service must do. */
export function artifactServiceConformance(
  name: string,
  make: () => Promise<{ service: ArtifactService; dispose(): Promise<void> }>,
): void {
  const place = { appName: 'app', userId: 'u', sessionId: 's' };
  const withService = (run: (service: ArtifactService) => Promise<void>) => async () => {
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
        const strange = ['a/b', '..', 'a b', 'ü*>', 'x.y', '__proto__'];
        for (const filename of strange)
          await service.saveArtifact({ ...place, filename, artifact: { text: filename } });
        expect(await service.listArtifactKeys(place)).toEqual(strange.toSorted());
        await service.saveArtifact({
          appName: 'a:b',
          userId: 'c',
          sessionId: 's',
          filename: 'f',
          artifact: { text: '1' },
        });
        const beside = { appName: 'a', userId: 'b:c', sessionId: 's', filename: 'f' };
        expect(await service.loadArtifact(beside)).toBeUndefined();
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
        await expect(save('f', {})).rejects.toMatchObject({ code: 'invalid_argument' });
      }),
    );

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

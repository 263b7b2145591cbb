import type { Part } from '@google/genai';
import { expect, it } from 'vitest';
import { bytesIn, place, readAll, streamIn, type WithService } from './artifact-bytes.ts';

const file = { ...place, filename: 'report.txt' };

/** Tests of version metadata. */
export function keepingMetadata(withService: WithService): void {
  it.each([
    ['data that is no base64', { inlineData: { mimeType: 'a/b', data: '%%%' } }],
    ['data that is no text', { inlineData: { mimeType: 'a/b', data: 5 } }],
    ['inline data that is null', { inlineData: null }],
    ['a file that is null', { fileData: null }],
    ['a type with a line break', { inlineData: { mimeType: 'a/b\r\n; c=d', data: '' } }],
    ['a type that is none', { fileData: { mimeType: 'nope', fileUri: 'https://host/a' } }],
  ])(
    'refuses %s',
    async (_what, given) =>
      await withService(async (service) => {
        const artifact = given as Part;
        const save = service.saveArtifact({ ...file, artifact });
        await expect(save).rejects.toMatchObject({ code: 'invalid_argument' });
        const stream = streamIn([new Uint8Array(1)]);
        const typed = service.saveArtifactStream({ ...file, stream, mimeType: 'a/b\r\n; c=d' });
        await expect(typed).rejects.toMatchObject({ code: 'invalid_argument' });
        expect(await service.listVersions(file)).toEqual([]);
      })(),
  );

  it(
    'refuses names that no address can hold',
    withService(async (service) => {
      for (const filename of ['.', '..']) {
        const save = service.saveArtifact({ ...file, filename, artifact: { text: 'x' } });
        await expect(save).rejects.toMatchObject({ code: 'invalid_argument' });
      }
    }),
  );

  it(
    'tells of each version what it is',
    withService(async (service) => {
      const before = Date.now();
      const customMetadata = { by: 'ann', tags: ['a', { b: null }], ü: '\r\n' };
      await service.saveArtifact({ ...file, artifact: { text: 'four' }, customMetadata });
      const inlineData = { mimeType: 'image/png', data: 'AAEC' };
      await service.saveArtifact({ ...file, artifact: { inlineData } });
      const [first, second] = await service.listArtifactVersions(file);
      expect(first).toMatchObject({ version: 0, mimeType: 'text/plain', size: 4, customMetadata });
      expect(second).toMatchObject({ version: 1, mimeType: 'image/png', size: 3, customMetadata: {} });
      expect(first?.createTime).toBeGreaterThanOrEqual(before - 1);
      expect(second?.createTime).toBeGreaterThanOrEqual(first?.createTime ?? Number.NaN);
      expect(URL.canParse(first?.canonicalUri ?? '')).toBe(true);
      expect(first?.canonicalUri).not.toBe(second?.canonicalUri);
      expect(await service.getArtifactVersion(file)).toEqual(second);
      expect(await service.getArtifactVersion({ ...file, version: 0 })).toEqual(first);
      expect(await service.getArtifactVersion({ ...file, version: 7 })).toBeUndefined();
      expect(await service.listArtifactVersions({ ...file, filename: 'other' })).toEqual([]);
    }),
  );

  it(
    'refuses metadata that is too long or no JSON',
    withService(async (service) => {
      const save = (customMetadata: Record<string, unknown>) =>
        service.saveArtifact({ ...file, artifact: { text: 'x' }, customMetadata });
      await expect(save({ x: 'x'.repeat(70_000) })).rejects.toMatchObject({ code: 'invalid_argument' });
      await expect(save({ x: 1n })).rejects.toMatchObject({ code: 'invalid_argument' });
      expect(await service.listVersions(file)).toEqual([]);
    }),
  );
}

/** Tests of deletion. */
export function deletingAll(withService: WithService): void {
  it(
    'deletes the files of a session, and leaves those of the user and of other sessions',
    withService(async (service) => {
      const save = (sessionId: string, filename: string, userId = 'u') =>
        service.saveArtifact({ appName: 'app', userId, sessionId, filename, artifact: { text: 'x' } });
      for (const [sessionId, filename] of [
        ['s', 'a'],
        ['s', 'a'],
        ['s', 'b'],
        ['s', 'user:c'],
        ['s2', 'a'],
      ] as const)
        await save(sessionId, filename);
      await save('s', 'a', 'u2');
      const session = { appName: 'app', userId: 'u', sessionId: 's' };
      expect(await service.deleteAll(session)).toBe(2);
      expect(await service.deleteAll(session)).toBe(0);
      expect(await service.listArtifactKeys(session)).toEqual(['user:c']);
      expect(await service.loadArtifact({ ...session, filename: 'a', version: 0 })).toBeUndefined();
      expect(await service.listArtifactKeys({ ...session, sessionId: 's2' })).toEqual(['a', 'user:c']);
      expect(await service.listArtifactKeys({ ...session, userId: 'u2' })).toEqual(['a']);
      expect(await save('s', 'a')).toBe(0);
    }),
  );

  it(
    'finds all files of a user, and deletes them',
    withService(async (service) => {
      const names = [
        ['s', 'a/b'],
        ['s', 'c'],
        ['t.*', 'a/b'],
        ['t.*', 'user:own'],
      ] as const;
      for (const [sessionId, filename] of names)
        await service.saveArtifact({ ...place, sessionId, filename, artifact: { text: 'x' } });
      const another = { ...place, userId: 'u2', filename: 'user:own' };
      await service.saveArtifact({ ...another, artifact: { text: 'x' } });
      const user = { appName: 'app', userId: 'u' };
      const found = await Array.fromAsync(service.listUserArtifacts(user));
      const inOrder = found.sort((a, b) => `${a.sessionId}`.localeCompare(`${b.sessionId}`));
      expect(inOrder).toEqual([
        { sessionId: 's', filename: 'a/b' },
        { sessionId: 's', filename: 'c' },
        { sessionId: 't.*', filename: 'a/b' },
        { filename: 'user:own' },
      ]);
      expect(await service.deleteAll(user)).toBe(4);
      expect(await Array.fromAsync(service.listUserArtifacts(user))).toEqual([]);
      expect(await service.deleteAll(user)).toBe(0);
      expect(await service.loadArtifact(another)).toEqual({ text: 'x' });
    }),
  );

  it(
    'begins again at version 0 after a deletion, and never with old bytes',
    withService(async (service) => {
      for (const text of ['one', 'two']) await service.saveArtifact({ ...file, artifact: { text } });
      await service.deleteArtifact(file);
      expect(await service.saveArtifact({ ...file, artifact: { text: 'three' } })).toBe(0);
      expect(await service.loadArtifact(file)).toEqual({ text: 'three' });
      expect(await service.listVersions(file)).toEqual([0]);
      expect(await service.loadArtifact({ ...file, version: 1 })).toBeUndefined();
    }),
  );
}

/** Tests of concurrent saves. */
export function savingAtOnce(withService: WithService): void {
  it(
    'gives each of many who save one name at once a version of its own, and loses none',
    withService(async (service) => {
      const save = (n: number) =>
        n % 2 === 0
          ? service.saveArtifact({ ...file, artifact: { text: `${n}` } })
          : service.saveArtifactStream({ ...file, stream: streamIn([Buffer.from(`${n}`)]) });
      const versions = await Promise.all(Array.from({ length: 16 }, (_, n) => save(n)));
      expect(versions.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 16 }, (_, n) => n));
      for (const [n, version] of versions.entries()) {
        const { stream } = (await service.loadArtifactStream({ ...file, version })) ?? expect.fail();
        expect((await readAll(stream)).toString()).toBe(`${n}`);
      }
    }),
    30_000,
  );

  it(
    'keeps files of many names that are saved at once',
    withService(async (service) => {
      const names = Array.from({ length: 16 }, (_, n) => `f${String(n).padStart(2, '0')}`);
      const artifact = { inlineData: { mimeType: 'a/b', data: bytesIn(1_000).toString('base64') } };
      await Promise.all(names.map((filename) => service.saveArtifact({ ...place, filename, artifact })));
      expect(await service.listArtifactKeys(place)).toEqual(names);
    }),
    30_000,
  );
}

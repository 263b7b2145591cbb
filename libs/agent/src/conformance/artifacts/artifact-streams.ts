import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { bytesIn, place, readAll, streamIn, type WithService } from './artifact-bytes.ts';

const file = { ...place, filename: 'large.bin' };

/** Tests of saving and loading as streams. */
export function streaming(withService: WithService): void {
  it(
    'saves a stream and loads it as one, with its type and size',
    withService(async (service) => {
      const chunks = [bytesIn(1), bytesIn(70_000, 2), new Uint8Array(), bytesIn(131_073, 3)];
      const upload = { stream: streamIn(chunks), mimeType: 'video/mp4', customMetadata: { from: 'me' } };
      expect(await service.saveArtifactStream({ ...file, ...upload })).toBe(0);
      const loaded = (await service.loadArtifactStream(file)) ?? expect.fail();
      const { stream, ...about } = loaded;
      expect(about).toMatchObject({ version: 0, mimeType: 'video/mp4', customMetadata: { from: 'me' } });
      expect(about.size).toBe(201_074);
      expect((await readAll(stream)).equals(Buffer.concat(chunks))).toBe(true);
      const part = await service.loadArtifact(file);
      const data = Buffer.concat(chunks).toString('base64');
      expect(part).toEqual({ inlineData: { mimeType: 'video/mp4', data } });
    }),
  );

  it(
    'saves a stream of nothing, and gives a text as its bytes',
    withService(async (service) => {
      await service.saveArtifactStream({ ...file, stream: streamIn([]) });
      const { stream, size, mimeType } = (await service.loadArtifactStream(file)) ?? expect.fail();
      expect({ size, mimeType }).toEqual({ size: 0, mimeType: 'application/octet-stream' });
      expect(await readAll(stream)).toHaveLength(0);
      await service.saveArtifact({ ...file, artifact: { text: 'ü' } });
      const text = await service.loadArtifactStream({ ...file, version: 1 });
      expect((await readAll(text?.stream)).toString()).toBe('ü');
      expect(await service.loadArtifactStream({ ...file, version: 2 })).toBeUndefined();
    }),
  );

  it(
    'keeps nothing of a stream that fails',
    withService(async (service) => {
      const stream = streamIn([bytesIn(200_000), new Error('the source has gone')]);
      const save = service.saveArtifactStream({ ...file, stream });
      await expect(save).rejects.toThrow('the source has gone');
      expect(await service.listVersions(file)).toEqual([]);
      expect(await service.listArtifactKeys(place)).toEqual([]);
      expect(await service.saveArtifactStream({ ...file, stream: streamIn([bytesIn(5)]) })).toBe(0);
    }),
  );

  it(
    'lets go of the stream of a name that it refuses',
    withService(async (service) => {
      let cancelled = false;
      const stream = new ReadableStream<Uint8Array>({
        cancel() {
          cancelled = true;
        },
      });
      const save = service.saveArtifactStream({ ...file, filename: '', stream });
      await expect(save).rejects.toMatchObject({ code: 'invalid_argument' });
      expect(cancelled).toBe(true);
    }),
  );

  it(
    'can be left in the midst of a file',
    withService(async (service) => {
      await service.saveArtifactStream({ ...file, stream: streamIn([bytesIn(1_000_000)]) });
      const { stream } = (await service.loadArtifactStream(file)) ?? expect.fail();
      const reader = stream.getReader();
      expect((await reader.read()).value?.length).toBeGreaterThan(0);
      await reader.cancel();
      expect((await readAll((await service.loadArtifactStream(file))?.stream)).length).toBe(1_000_000);
    }),
  );

  it(
    'takes a file of 20 MB as it comes',
    withService(async (service) => {
      const [sent, got] = [createHash('sha256'), createHash('sha256')];
      const block = bytesIn(1_048_576);
      function* blocks() {
        for (let n = 0; n < 20; n += 1) {
          block.writeUInt32LE(n);
          sent.update(block);
          yield Buffer.from(block);
        }
      }
      await service.saveArtifactStream({ ...file, stream: streamIn(blocks()) });
      const { stream, size } = (await service.loadArtifactStream(file)) ?? expect.fail();
      for await (const chunk of stream) got.update(chunk);
      expect(size).toBe(20 * 1_048_576);
      expect(got.digest('hex')).toBe(sent.digest('hex'));
    }),
    60_000,
  );
}

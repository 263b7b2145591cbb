import { createHash, randomBytes } from 'node:crypto';
import { subjects } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import type { Scene } from './world.ts';

const { artifactBucket: bucket } = subjects();
const utf8 = (text: string) => Buffer.from(text);

async function* chunks(...each: (Uint8Array | Error)[]) {
  for (const chunk of each) {
    if (chunk instanceof Error) throw chunk;
    yield chunk;
  }
}

const readAll = async (bytes: AsyncIterable<Uint8Array> | undefined) =>
  Buffer.concat(await Array.fromAsync(bytes ?? chunks()));

/**
 * Declares the tests of buckets: objects are complete or absent, and records change only from the value that
 * was read.
 */
export function describeBuckets(scene: Scene): void {
  describe('objects', () => {
    it.each([0, 1, 65_536, 65_537, 3_000_000])('keeps %d bytes', async (size) => {
      const objects = (await scene.connect(scene.name('writer'))).objects(bucket);
      const bytes = randomBytes(size);
      const put = await objects.put(chunks(bytes.subarray(0, 7), bytes.subarray(7)), { a: 'ü"' });
      expect(put.size).toBe(size);
      const reader = (await scene.connect(scene.name('reader'))).objects(bucket);
      const { bytes: found, ...about } = (await reader.open(put.id)) ?? expect.fail();
      expect(about).toMatchObject({ size, metadata: { a: 'ü"' } });
      expect((await readAll(found)).equals(bytes)).toBe(true);
      expect(await reader.info(put.id)).toEqual(about);
      expect(Date.now() - ((await reader.lastWritten(put.id)) ?? 0)).toBeLessThan(60_000);
    });

    it('keeps objects apart that are written at the same time', async () => {
      const objects = (await scene.connect(scene.name('writer'))).objects(bucket);
      const all = Array.from({ length: 6 }, () => randomBytes(400_000));
      const ids = await Promise.all(all.map((bytes) => objects.put(chunks(bytes))));
      for (const [n, { id }] of ids.entries()) {
        expect((await readAll((await objects.open(id))?.bytes)).equals(all[n] ?? Buffer.of())).toBe(true);
      }
    });

    it('keeps an object that two processes write and read piece by piece', async () => {
      const buses = await Promise.all(['one', 'two'].map((each) => scene.connect(scene.name(each))));
      const of = (n: number) => (buses[n % 2] ?? expect.fail()).objects(bucket);
      const id = scene.name('pieces').replaceAll(/\W/g, '-');
      const pieces = Array.from({ length: 5 }, () => randomBytes(200_000));
      let first = 0;
      for (const [n, piece] of pieces.entries()) {
        const place = await of(n).putPiece(id, n, piece);
        if (n === 0) first = place;
        // The acknowledgement of the first writer was lost.
        expect(await of(n + 1).putPiece(id, n, piece)).toBe(place);
      }
      expect(await of(0).open(id)).toBeUndefined();
      expect(await of(1).pieceCount(id)).toBe(5);
      const whole = Buffer.concat(pieces);
      const digest = createHash('sha256').update(whole).digest('base64url');
      const all = { count: 5, first, size: whole.length, digest };
      const others = of(0).complete(id, { ...all, count: 4 });
      await expect(others).rejects.toMatchObject({ code: 'failed_precondition' });
      for (const n of [0, 1]) await of(n).complete(id, all, { a: 'b' });
      expect(await of(0).pieceCount(id)).toBe(5);
      expect(await of(0).info(id)).toMatchObject({ size: whole.length, digest, metadata: { a: 'b' } });
      expect((await readAll((await of(1).open(id))?.bytes)).equals(whole)).toBe(true);
      const found: Uint8Array[] = [];
      for (let from = 0; ; ) {
        const piece = await of(found.length).piece(id, from);
        if (!piece) break;
        found.push(piece.bytes);
        from = piece.next;
      }
      expect(Buffer.concat(found).equals(whole)).toBe(true);
      await of(0).delete(id);
      expect(await of(0).piece(id, 0)).toBeUndefined();
      expect(await of(0).pieceCount(id)).toBe(0);
      expect(await of(0).ids()).not.toContain(id);
    });

    it('leaves nothing behind of a stream that fails, and of an object that is deleted', async () => {
      const objects = (await scene.connect(scene.name('writer'))).objects(bucket);
      const before = await objects.ids();
      const put = objects.put(chunks(randomBytes(200_000), new Error('gone')));
      await expect(put).rejects.toThrow('gone');
      const { id } = await objects.put(chunks(randomBytes(200_000)));
      expect(await objects.ids()).toContain(id);
      await objects.delete(id);
      await objects.delete(id);
      expect(await objects.open(id)).toBeUndefined();
      expect(await objects.info(id)).toBeUndefined();
      expect(await objects.lastWritten(id)).toBeUndefined();
      expect((await objects.ids()).toSorted()).toEqual(before.toSorted());
    });
  });

  describe('records', () => {
    const text = (value: Uint8Array | undefined) => value && Buffer.from(value).toString();

    it('change only from the revision that was read', async () => {
      const records = (await scene.connect(scene.name('one'))).records(bucket);
      const key = `${scene.name('key')}.a=2E`;
      expect(await records.read(key)).toEqual({ value: undefined, revision: 0 });
      expect(await records.write(key, utf8('1'), 0)).toBe(true);
      expect(await records.write(key, utf8('2'), 0)).toBe(false);
      const { value, revision } = await records.read(key);
      expect(text(value)).toBe('1');
      expect(await records.remove(key, revision + 1)).toBe(false);
      expect(await records.write(key, utf8('3'), revision)).toBe(true);
      const next = await records.read(key);
      expect(await records.remove(key, next.revision)).toBe(true);
      expect((await records.read(key)).value).toBeUndefined();
      expect(await records.write(key, utf8('4'), (await records.read(key)).revision)).toBe(true);
    });

    it('let one of many concurrent writers win', async () => {
      const records = (await scene.connect(scene.name('one'))).records(bucket);
      const key = scene.name('key');
      const writes = Array.from({ length: 10 }, (_, n) => records.write(key, Buffer.from(`${n}`), 0));
      expect((await Promise.all(writes)).filter(Boolean)).toHaveLength(1);
    });

    it('are found by the first tokens of their keys', async () => {
      const records = (await scene.connect(scene.name('one'))).records(bucket);
      const [one, other] = [scene.name('one'), scene.name('other')];
      for (const key of [`${one}.a.b`, `${one}.a.c`, `${one}.ab.c`, `${other}.a.d`])
        await records.write(key, utf8('x'), 0);
      expect((await records.keys(one, 'a')).toSorted()).toEqual([`${one}.a.b`, `${one}.a.c`]);
      expect(await records.keys(other)).toEqual([`${other}.a.d`]);
    });
  });
}

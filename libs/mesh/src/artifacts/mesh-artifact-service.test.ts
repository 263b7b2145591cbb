import type { ArtifactService } from '@agentmesh/agent';
import { artifactServiceConformance } from '@agentmesh/agent/conformance';
import { MemoryHub } from '@agentmesh/bus';
import { describe, expect, it } from 'vitest';
import { MeshArtifactService } from './mesh-artifact-service.ts';

const dispose = async () => {};
const hubService = async () => {
  const bus = await new MemoryHub().connect({ service: 'test' });
  return { bus, service: new MeshArtifactService(bus, 'B'), dispose };
};

artifactServiceConformance('buckets in memory', hubService);

const file = { appName: 'app', userId: 'u', sessionId: 's', filename: 'f' };
const save = (service: ArtifactService, text: string) =>
  service.saveArtifact({ ...file, artifact: { text } });

/** Makes a bus whose process dies at the n-th use of a method of a bucket. */
function dyingAt(bus: Awaited<ReturnType<typeof hubService>>['bus'], at: string, after = false) {
  const died = new Error('died');
  const dying = <T extends object>(bucket: T): T =>
    new Proxy(bucket, {
      get(target, name) {
        const method = Reflect.get(target, name) as (...args: unknown[]) => Promise<unknown>;
        if (name !== at) return method;
        return async (...args: unknown[]) => {
          if (after) await method(...args);
          throw died;
        };
      },
    });
  const objects = (name: string) => dying(bus.objects(name));
  const records = (name: string) => dying(bus.records(name));
  return new MeshArtifactService({ objects, records }, 'B');
}

describe('the sweep', () => {
  const expired = { isGone: async ({ sessionId }: { sessionId: string }) => sessionId !== 'lives' };

  it('removes the files of sessions that have been gone for a while, and no others', async () => {
    const { bus, service } = await hubService();
    for (const sessionId of ['lives', 'gone'])
      for (const filename of ['f', 'user:f'])
        await service.saveArtifact({ ...file, sessionId, filename, artifact: { text: 'x' } });
    // Without `isGone` the sweep knows of no sessions.
    expect(await service.sweep({ abandonedAfterMs: -1 })).toBe(0);
    expect(await service.sweep(expired)).toBe(0);
    expect(await service.sweep(expired)).toBe(0);
    expect(await service.sweep({ ...expired, abandonedAfterMs: -1 })).toBe(1);
    expect(await service.listArtifactKeys({ ...file, sessionId: 'gone' })).toEqual(['user:f']);
    expect(await service.listArtifactKeys({ ...file, sessionId: 'lives' })).toEqual(['f', 'user:f']);
    expect(await bus.objects('B').ids()).toHaveLength(3);
  });

  it('starts the time again for a session that exists again, and keeps files that are saved meanwhile', async () => {
    const { service } = await hubService();
    await save(service, 'old');
    let there = false;
    const isGone = async () => !there;
    await service.sweep({ isGone });
    there = true;
    expect(await service.sweep({ isGone, abandonedAfterMs: -1 })).toBe(0);
    const later = async () => {
      await save(service, 'new');
      return true;
    };
    expect(await service.sweep({ isGone: later, abandonedAfterMs: -1 })).toBe(1);
    expect(await service.loadArtifact(file)).toEqual({ text: 'new' });
  });

  it('removes nothing while the sessions cannot be read', async () => {
    const { service } = await hubService();
    await save(service, 'kept');
    const isGone = async () => expect.fail('redis is away');
    await expect(service.sweep({ isGone, abandonedAfterMs: -1 })).rejects.toThrow('redis is away');
    expect(await service.loadArtifact(file)).toEqual({ text: 'kept' });
  });
});

describe('a crash', () => {
  it('between bytes and record leaves an invisible object, which the sweep removes', async () => {
    const { bus, service } = await hubService();
    await save(service, 'kept');
    await expect(save(dyingAt(bus, 'write'), 'lost')).rejects.toThrow();
    // A living process removes its stray object itself; after the death of the process the object stays.
    await bus.objects('B').put(new Blob(['stray']).stream());
    expect(await service.listVersions(file)).toEqual([0]);
    expect(await service.sweep()).toBe(0);
    expect(await service.sweep({ abandonedAfterMs: -1 })).toBe(1);
    expect(await bus.objects('B').ids()).toHaveLength(1);
    expect(await service.loadArtifact(file)).toEqual({ text: 'kept' });
  });

  it('after the record was written neither loses nor doubles a version', async () => {
    const { bus, service } = await hubService();
    const records = bus.records('B');
    let lost = 1;
    const deaf = {
      objects: bus.objects,
      records: () => ({
        ...records,
        async write(...args: Parameters<typeof records.write>) {
          const written = await records.write(...args);
          lost -= 1;
          return lost === 0 ? false : written;
        },
      }),
    };
    expect(await save(new MeshArtifactService(deaf, 'B'), 'one')).toBe(0);
    expect(await service.listVersions(file)).toEqual([0]);
  });

  it.each([
    ['before the bytes go', false],
    ['before the note of it goes', true],
  ])('within a deletion, %s: nothing is seen any more, and deleting again finishes', async (_, after) => {
    const { bus, service } = await hubService();
    await save(service, 'one');
    await save(service, 'two');
    await expect(dyingAt(bus, 'delete', after).deleteArtifact(file)).rejects.toThrow();
    expect(await service.listArtifactKeys(file)).toEqual([]);
    expect(await service.loadArtifact(file)).toBeUndefined();
    await service.deleteArtifact(file);
    expect(await bus.objects('B').ids()).toEqual([]);
    expect(await bus.records('B').keys()).toEqual([]);
  });

  it('within a deletion is repaired by the sweep, too', async () => {
    const { bus, service } = await hubService();
    await save(service, 'one');
    await expect(dyingAt(bus, 'delete').deleteAll(file)).rejects.toThrow();
    expect(await service.sweep()).toBe(1);
    expect(await bus.objects('B').ids()).toEqual([]);
    expect(await bus.records('B').keys()).toEqual([]);
  });
});

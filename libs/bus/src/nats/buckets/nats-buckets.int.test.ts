import { randomBytes } from 'node:crypto';
import { subjects } from '@agentmesh/protocol';
import { type Server, startNats } from '@agentmesh/testing/servers';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/nats-core';
import { Objm } from '@nats-io/obj';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Bus } from '../../bus/bus.ts';
import { openNats } from '../open-nats.ts';
import { provision } from '../operator/provision.ts';

const { artifactBucket: bucket } = subjects();
const utf8 = (text: string) => Buffer.from(text);
const some = async function* (...each: Uint8Array[]) {
  yield* each;
};

describe('buckets beside the client library of NATS', () => {
  let server: Server;
  let bus: Bus;
  let connection: NatsConnection;

  beforeAll(async () => {
    server = await startNats();
    await provision({ url: server.url, agents: [] });
    // The second round shows that the first one left nothing that disturbs it.
    await provision({ url: server.url, agents: [] });
    ({ bus, connection } = await openNats({ url: server.url, service: 'test' }));
  });
  afterAll(async () => {
    await bus[Symbol.asyncDispose]();
    await server.stop();
  });

  it('can be read and written by that library', async () => {
    const theirs = await new Objm(jetstream(connection)).open(bucket);
    const ours = bus.objects(bucket);
    const bytes = randomBytes(300_000);
    const { id } = await ours.put(some(bytes), { a: 'b' });
    expect(Buffer.from((await theirs.getBlob(id)) ?? []).equals(bytes)).toBe(true);
    expect(await theirs.info(id)).toMatchObject({ size: 300_000, metadata: { a: 'b' } });
    await theirs.putBlob({ name: 'from them' }, bytes);
    const opened = (await ours.open('from them')) ?? expect.fail();
    expect(Buffer.concat(await Array.fromAsync(opened.bytes)).equals(bytes)).toBe(true);
    await ours.delete('from them');
    expect(await theirs.info('from them')).toBeNull();
    await theirs.delete(id);
    expect(await ours.open(id)).toBeUndefined();
    const records = bus.records(bucket);
    await records.write('a.b', utf8('1'), 0);
    const kv = await new Kvm(jetstream(connection)).open(bucket);
    expect((await kv.get('a.b'))?.string()).toBe('1');
    await records.remove('a.b', (await records.read('a.b')).revision);
    expect(await kv.get('a.b')).toBeNull();
  });

  it('leave no message behind when all is deleted', async () => {
    const [objects, records] = [bus.objects(bucket), bus.records(bucket)];
    const manager = await jetstreamManager(connection);
    for (const name of [`OBJ_${bucket}`, `KV_${bucket}`]) await manager.streams.purge(name);
    const { id } = await objects.put(some(randomBytes(200_000)));
    await records.write('k', utf8('1'), 0);
    await objects.delete(id);
    await records.remove('k', (await records.read('k')).revision);
    for (const name of [`OBJ_${bucket}`, `KV_${bucket}`]) {
      const { state } = await manager.streams.info(name);
      expect(state.messages, name).toBe(0);
    }
  });

  it('report an object that is broken or deleted', async () => {
    const objects = bus.objects(bucket);
    const manager = await jetstreamManager(connection);
    const { id } = await objects.put(some(randomBytes(200_000)));
    const opened = (await objects.open(id)) ?? expect.fail();
    await manager.streams.purge(`OBJ_${bucket}`, { filter: `$O.${bucket}.C.${id}`, keep: 1 });
    await expect(Array.fromAsync(opened.bytes)).rejects.toMatchObject({ code: 'unavailable' });
    const other = await objects.put(some(randomBytes(100_000)));
    const { seq } = (await manager.streams.getMessage(`OBJ_${bucket}`, {
      last_by_subj: `$O.${bucket}.C.${other.id}`,
    })) ?? { seq: 0 };
    await manager.streams.deleteMessage(`OBJ_${bucket}`, seq);
    await jetstream(connection).publish(`$O.${bucket}.C.${other.id}`, randomBytes(100_000 - 65_536));
    const broken = (await objects.open(other.id)) ?? expect.fail();
    await expect(Array.fromAsync(broken.bytes)).rejects.toMatchObject({ code: 'internal' });
  });

  it('take no rollups for claims, also when an earlier version has made their streams', async () => {
    const manager = await jetstreamManager(connection);
    const name = `OBJ_${subjects().claimBucket('work')}`;
    await manager.streams.delete(name);
    const [one, two] = [
      `$O.${subjects().claimBucket('work')}.C.>`,
      `$O.${subjects().claimBucket('work')}.M.>`,
    ];
    await manager.streams.add({ name, subjects: [one, two], allow_rollup_hdrs: true, allow_direct: true });
    await provision({ url: server.url, agents: [] });
    const { config } = await manager.streams.info(name);
    expect(config).toMatchObject({ allow_rollup_hdrs: false, deny_delete: true });
  });

  it('say what to do when nothing was provisioned', async () => {
    const objects = bus.objects('NONE');
    const error = { code: 'failed_precondition', message: expect.stringContaining('provision') };
    await expect(objects.put(some(randomBytes(10)))).rejects.toMatchObject(error);
    await expect(objects.open('x')).rejects.toMatchObject(error);
    await expect(bus.records('NONE').read('x')).rejects.toMatchObject(error);
    await expect(bus.records('NONE').write('x', new Uint8Array(), 0)).rejects.toMatchObject(error);
  });
});

import { createHash } from 'node:crypto';
import type { ObjectBucket } from '@agentmesh/bus';
import { subjects } from '@agentmesh/protocol';
import { expect, it } from 'vitest';
import { memoryMesh } from '../harness.fixture.ts';
import { MeshArtifactService } from './mesh-artifact-service.ts';
import { Uploads } from './uploads.ts';

const owner = { appName: 'app', userId: 'u', sessionId: 's' };
const upload = { service: 'tool_a', file: { owner, filename: 'f' }, upload: 'one' };
const about = { mimeType: 'text/plain', customMetadata: {}, part: {} };
const { artifactBucket } = subjects();

/** An upload of one piece, two keepers, and a hook between the steps of the first one. */
async function startUpload(text = 'text') {
  const { bus } = await memoryMesh().connect('keeper');
  const hooks = { async afterComplete() {}, async beforeCount() {} };
  const objects = bus.objects(artifactBucket);
  const hooked: ObjectBucket = {
    ...objects,
    async complete(...args) {
      await objects.complete(...args);
      await hooks.afterComplete();
    },
    async pieceCount(id) {
      await hooks.beforeCount();
      return await objects.pieceCount(id);
    },
  };
  const uploads = new Uploads({ objects: () => hooked, records: bus.records }, artifactBucket);
  const other = new Uploads(bus, artifactBucket);
  const bytes = Buffer.from(text);
  const count = text === '' ? 0 : 1;
  const first = count === 0 ? 0 : await uploads.write(upload, 0, bytes);
  const digest = createHash('sha256').update(bytes).digest('base64url');
  const pieces = { count, first, size: bytes.length, digest };
  const files = new MeshArtifactService(bus, artifactBucket);
  return { hooks, other, objects, files, save: () => uploads.save(upload, pieces, about) };
}

it('an upload that another keeper discards at the same time is no version', async () => {
  for (const step of ['afterComplete', 'beforeCount'] as const) {
    const { hooks, other, objects, files, save } = await startUpload();
    // The other keeper has looked at the list of files before the version was in it.
    hooks[step] = async () => {
      if (step === 'afterComplete') await other.discard(upload);
      else for (const id of await objects.ids()) await objects.delete(id);
    };
    await expect(save(), step).rejects.toMatchObject({ code: 'failed_precondition' });
    expect(await objects.ids()).toEqual([]);
    expect(await files.listArtifactKeys(owner)).toEqual([]);
  }
});

it('an upload without bytes that another keeper discards at the same time is no version', async () => {
  const { hooks, other, files, save } = await startUpload('');
  const file = { ...owner, filename: 'f' };
  await files.saveArtifact({ ...file, artifact: { text: 'before' } });
  hooks.afterComplete = () => other.discard(upload);
  await expect(save()).rejects.toMatchObject({ code: 'failed_precondition' });
  expect(await files.loadArtifact(file)).toEqual({ text: 'before' });
});

it('a version stays when its upload is discarded', async () => {
  const { other, files, save } = await startUpload();
  expect(await save()).toEqual({ version: 0, isNew: true });
  await other.discard(upload);
  expect(await save()).toEqual({ version: 0, isNew: false });
  expect(await files.loadArtifact({ ...owner, filename: 'f' })).toEqual({ text: 'text' });
});

import type { ArtifactOwner } from '@agentmesh/agent/internal';
import type { ObjectBucket, RecordBucket } from '@agentmesh/bus';
import { inGroups } from './in-groups.ts';
import { changeManifest, objectsOf } from './manifest.ts';

/** The two buckets of the files of a mesh. */
export interface FileBuckets {
  objects: ObjectBucket;
  records: RecordBucket;
}

/** Removes these versions of an owner's files, and leaves later ones. Returns their number. */
export async function removeVersions(
  buckets: FileBuckets,
  owner: ArtifactOwner,
  ids: ReadonlySet<string>,
): Promise<number> {
  const removedIds = await changeManifest(buckets.records, owner, (manifest) => {
    const isListed = (id: string) => ids.has(id);
    manifest.gone.push(...objectsOf(manifest.files).filter(isListed));
    manifest.files = manifest.files
      .map(([name, versions]): [string, string[]] => [name, versions.filter((id) => !isListed(id))])
      .filter((file) => objectsOf([file]).length > 0);
    return manifest.gone.filter(isListed);
  });
  await purgeObjects(buckets, owner, removedIds);
  return removedIds.length;
}

/** Deletes objects that the owner's manifest notes as gone, then the notes. */
export async function purgeObjects(
  { objects, records }: FileBuckets,
  owner: ArtifactOwner,
  ids: string[],
): Promise<void> {
  if (ids.length === 0) return;
  await inGroups(ids, (id) => objects.delete(id));
  const deleted = new Set(ids);
  await changeManifest(records, owner, (manifest) => {
    manifest.gone = manifest.gone.filter((id) => !deleted.has(id));
  });
}

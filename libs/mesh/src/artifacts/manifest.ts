import { setTimeout as delay } from 'node:timers/promises';
import type { ArtifactOwner } from '@agentmesh/agent/internal';
import type { RecordBucket } from '@agentmesh/bus';
import { encodeToken, MeshError, parse } from '@agentmesh/protocol';
import { z } from 'zod';

const manifestSchema = z.object({
  owner: z.object({ appName: z.string(), userId: z.string(), sessionId: z.string().optional() }),
  /**
   * Names with the objects of their versions, in order: the index is the version. The entries are pairs
   * because a name may also be a property that every object has.
   */
  files: z.array(z.tuple([z.string(), z.array(z.string())])),
  /** Objects of deleted versions that must still be deleted. */
  gone: z.array(z.string()).default([]),
});

/**
 * All files of one owner: the one record that decides about new versions, and from which an owner's files are
 * listed without reading the files of other owners.
 */
export type Manifest = z.infer<typeof manifestSchema>;

/** Stands in the list of a file for a version that was withdrawn: later versions keep their numbers. */
const withdrawn = '';

/** The broker's default limit of a message, with some room for its headers: about 28,000 versions. */
const maxManifestBytes = 1024 * 1024 - 4096;
const maxAttempts = 200;
const longestPauseMs = 50;

/**
 * Returns the key of an owner's record. The key of a user has one token fewer than the key of a session, so
 * no session id collides with it.
 */
export function manifestKey({ appName, userId, sessionId }: ArtifactOwner): string {
  const user = [encodeToken(appName), encodeToken(userId)];
  return [...user, ...(sessionId === undefined ? ['user'] : ['session', encodeToken(sessionId)])].join('.');
}

export async function readManifest(
  records: RecordBucket,
  key: string,
): Promise<{ manifest: Manifest | undefined; revision: number }> {
  const { value, revision } = await records.read(key);
  if (!value) return { manifest: undefined, revision };
  const text = Buffer.from(value).toString();
  return { manifest: parse(manifestSchema, JSON.parse(text), 'the list of artifacts'), revision };
}

/**
 * Changes a manifest in its present state, and starts again whenever another process was faster. `change`
 * gets a manifest that it may change; the result of `change` is returned. `change` may be called several
 * times: an earlier write may have been stored although its reply was lost, and `change` must notice that by
 * itself. An empty manifest is removed.
 *
 * @throws MeshError `resource_exhausted` when the manifest gets too long, `unavailable` when other processes
 * are always faster
 */
export async function changeManifest<T>(
  records: RecordBucket,
  owner: ArtifactOwner,
  change: (manifest: Manifest) => T,
): Promise<T> {
  const key = manifestKey(owner);
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const { manifest = { owner, files: [], gone: [] }, revision } = await readManifest(records, key);
    const before = JSON.stringify(manifest);
    const result = change(manifest);
    const after = JSON.stringify(manifest);
    if (after === before) return result;
    const isEmpty = manifest.files.length === 0 && manifest.gone.length === 0;
    const written = isEmpty
      ? await records.remove(key, revision)
      : await records.write(key, checked(after), revision);
    if (written) return result;
    // A random pause, so that the processes that lost do not try again together.
    const pauseMs = Math.random() * Math.min(2 ** attempt, longestPauseMs);
    await delay(pauseMs);
  }
  throw new MeshError('unavailable', 'too many processes save artifacts here at once; try again');
}

/**
 * Names an object as the next version of a file. Returns the version; a repetition returns the same one.
 * `isNew` is false when the object may have been a version before: its number may be known.
 *
 * @throws MeshError `failed_precondition` for an object that is being deleted
 */
export async function addVersion(
  records: RecordBucket,
  owner: ArtifactOwner,
  filename: string,
  id: string,
): Promise<{ version: number; isNew: boolean }> {
  return await changeManifest(records, owner, (manifest) => {
    if (manifest.gone.includes(id)) throw discarded(filename);
    const versions = listOf(manifest, filename);
    // The id is in the list if an earlier write was stored and its reply was lost.
    const known = versions.indexOf(id);
    if (known >= 0) return { version: known, isNew: false };
    if (versions.length === 0) manifest.files.push([filename, versions]);
    versions.push(id);
    return { version: versions.length - 1, isNew: true };
  });
}

/**
 * Takes a version back whose number nobody knows, and notes its object as gone. Other versions keep their numbers.
 * Returns false when the object is no version.
 */
export async function withdrawVersion(
  records: RecordBucket,
  owner: ArtifactOwner,
  filename: string,
  id: string,
): Promise<boolean> {
  return await changeManifest(records, owner, (manifest) => {
    const versions = listOf(manifest, filename);
    const at = versions.indexOf(id);
    if (at < 0) return false;
    versions[at] = withdrawn;
    while (versions.at(-1) === withdrawn) versions.pop();
    if (versions.length === 0) manifest.files = manifest.files.filter(([name]) => name !== filename);
    manifest.gone.push(id);
    return true;
  });
}

/** Returns the error for an upload that was removed before it became a version. */
export function discarded(filename: string): MeshError {
  return new MeshError('failed_precondition', `the upload of ${filename} was discarded; save the file again`);
}

function checked(text: string): Uint8Array {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxManifestBytes) return bytes;
  throw new MeshError(
    'resource_exhausted',
    'there are too many artifacts here; delete some, or keep them in another session',
  );
}

/** Returns the objects of a file's versions; undefined for a version that was withdrawn. The last one is never undefined. */
export function versionsIn(manifest: Manifest | undefined, filename: string): (string | undefined)[] {
  return listOf(manifest, filename).map((id) => (id === withdrawn ? undefined : id));
}

/** Returns the objects of all versions of these files. */
export function objectsOf(files: Manifest['files']): string[] {
  return files.flatMap(([, versions]) => versions.filter((id) => id !== withdrawn));
}

function listOf(manifest: Manifest | undefined, filename: string): string[] {
  return manifest?.files.find(([name]) => name === filename)?.[1] ?? [];
}

import { type ArtifactRef, BaseArtifactService } from '@agentmesh/agent';
import {
  type ArtifactAbout,
  type ArtifactOwner,
  artifactAboutSchema,
  artifactUri,
  fileOf,
  type OwnedFile,
  type StoredVersion,
} from '@agentmesh/agent/internal';
import type { Bus, StoredObject } from '@agentmesh/bus';
import { encodeToken, MeshError, meshTime, parse } from '@agentmesh/protocol';
import { inGroups } from './in-groups.ts';
import {
  addVersion,
  changeManifest,
  type Manifest,
  manifestKey,
  objectsOf,
  readManifest,
  versionsIn,
} from './manifest.ts';
import { type FileBuckets, purgeObjects, removeVersions } from './remove-objects.ts';

/** Time without a write after which a writer counts as dead, in ms. */
const abandonedMs = 3_600_000;

export interface SweepOptions {
  /**
   * Time without a write, and time since a session was found gone, after which objects are removed, in ms;
   * default one hour.
   */
  abandonedAfterMs?: number;
  isGone?(session: Required<ArtifactOwner>): Promise<boolean>;
}

type User = Pick<ArtifactOwner, 'appName' | 'userId'>;

/**
 * Artifacts in two buckets of the mesh. The bytes are objects under random ids. Each session and each user
 * has one record, which names the object of every version of every file. The object is stored first: a
 * process that dies before the record names it leaves an object that no reader sees, until {@link sweep}
 * removes it.
 */
export class MeshArtifactService extends BaseArtifactService {
  readonly #buckets: FileBuckets;
  /** The time at which the session of a record was found gone, in epoch ms, by the record's key. */
  readonly #foundGone = new Map<string, number>();

  constructor({ objects, records }: Pick<Bus, 'objects' | 'records'>, bucket: string) {
    super();
    this.#buckets = { objects: objects(bucket), records: records(bucket) };
  }

  protected override async store(
    { owner, filename }: OwnedFile,
    about: ArtifactAbout,
    bytes: ReadableStream<Uint8Array>,
  ): Promise<number> {
    // Must come before the upload: refuses names that no key can hold.
    manifestKey(owner);
    const { id } = await this.#buckets.objects.put(bytes, { about: JSON.stringify(about) });
    try {
      return (await addVersion(this.#buckets.records, owner, filename, id)).version;
    } catch (error) {
      // After a retryable error the record may have been stored: the object stays for the sweep.
      if (!MeshError.from(error).retryable) await this.#buckets.objects.delete(id).catch(() => {});
      throw error;
    }
  }

  protected override async open(file: OwnedFile, version: number | undefined) {
    const ids = await this.#ids(file);
    const at = version ?? ids.length - 1;
    const id = ids[at];
    if (id === undefined) return undefined;
    const object = await this.#buckets.objects.open(id);
    if (object) return { ...storedVersion(file, at, object), bytes: object.bytes };
    if (!(await this.#ids(file)).includes(id)) return undefined;
    throw new MeshError('internal', `the bytes of artifact ${file.filename}, version ${at}, are lost`);
  }

  protected override async versions(file: OwnedFile): Promise<StoredVersion[]> {
    const ids = await this.#ids(file);
    const objects = await inGroups(ids, (id) =>
      id === undefined ? undefined : this.#buckets.objects.info(id),
    );
    return objects.flatMap((object, version) => (object ? [storedVersion(file, version, object)] : []));
  }

  /** Returns the versions of a file with what is stored beside their bytes. */
  async storedVersions(ref: ArtifactRef): Promise<StoredVersion[]> {
    return await this.versions(fileOf(ref));
  }

  protected override async names(owner: ArtifactOwner): Promise<string[]> {
    const { manifest } = await readManifest(this.#buckets.records, manifestKey(owner));
    return manifest?.files.map(([name]) => name) ?? [];
  }

  /**
   * Removes files in three steps: hides them from readers, deletes their objects, deletes the note of these
   * objects. An interrupted removal continues at the note.
   */
  protected override async remove(owner: ArtifactOwner, filename?: string): Promise<number> {
    const { removedIds, count } = await changeManifest(this.#buckets.records, owner, (manifest) => {
      const isRemoved = (name: string) => filename === undefined || name === filename;
      const removed = manifest.files.filter(([name]) => isRemoved(name));
      manifest.files = manifest.files.filter(([name]) => !isRemoved(name));
      manifest.gone.push(...objectsOf(removed));
      return { removedIds: [...manifest.gone], count: removed.length };
    });
    await purgeObjects(this.#buckets, owner, removedIds);
    return count;
  }

  protected override async *owners({ appName, userId }: User): AsyncGenerator<ArtifactOwner> {
    for (const key of await this.#buckets.records.keys(encodeToken(appName), encodeToken(userId))) {
      const { manifest } = await readManifest(this.#buckets.records, key);
      if (manifest) yield ownerOf(manifest.owner);
    }
  }

  /**
   * Removes what dead processes left: objects without a record that were not written to for an hour, objects
   * of interrupted deletions, and files of sessions that are gone (for example expired) and were already
   * found gone an hour before. Reads the index of all artifacts, so sweep rarely. Any number of processes may
   * sweep at once.
   *
   * @param isGone tells whether the session does not exist; without it the files of all sessions stay
   * @returns how many objects were removed
   */
  async sweep({ abandonedAfterMs = abandonedMs, isGone }: SweepOptions = {}): Promise<number> {
    // Must come before the records: an object that is named later is not among these ids.
    const ids = new Set(await this.#buckets.objects.ids());
    let count = 0;
    for (const key of await this.#buckets.records.keys()) {
      const { manifest } = await readManifest(this.#buckets.records, key);
      if (!manifest) continue;
      for (const id of objectsOf(manifest.files)) ids.delete(id);
      for (const id of manifest.gone) ids.delete(id);
      count += manifest.gone.length;
      await purgeObjects(this.#buckets, ownerOf(manifest.owner), manifest.gone);
      if (isGone) count += await this.#sweepSession(key, manifest, isGone, abandonedAfterMs);
    }
    const strays = await inGroups([...ids], async (id) => {
      const written = await this.#buckets.objects.lastWritten(id);
      if (written === undefined || written > meshTime() - abandonedAfterMs) return 0;
      await this.#buckets.objects.delete(id);
      return 1;
    });
    return strays.reduce<number>((sum, one) => sum + one, count);
  }

  /**
   * Returns a function that removes the present files of a session and leaves later files; undefined if the
   * session has no files. A caller that then finds the session gone knows that these files belong to nobody,
   * even if a new session gets the same id meanwhile.
   */
  async filesNow(ref: Required<ArtifactOwner>): Promise<{ remove(): Promise<number> } | undefined> {
    const { appName, userId, sessionId } = ref;
    const owner = { appName, userId, sessionId };
    const { manifest } = await readManifest(this.#buckets.records, manifestKey(owner));
    const ids = objectsOf(manifest?.files ?? []);
    return ids.length === 0
      ? undefined
      : { remove: () => removeVersions(this.#buckets, owner, new Set(ids)) };
  }

  async #sweepSession(
    key: string,
    { owner: { appName, userId, sessionId }, files }: Manifest,
    isGone: NonNullable<SweepOptions['isGone']>,
    graceMs: number,
  ): Promise<number> {
    if (sessionId === undefined || files.length === 0) return 0;
    const owner = { appName, userId, sessionId };
    // Must come after the files were read: a session is created before its files.
    if (!(await isGone(owner))) {
      this.#foundGone.delete(key);
      return 0;
    }
    const since = this.#foundGone.get(key) ?? meshTime();
    this.#foundGone.set(key, since);
    if (since > meshTime() - graceMs) return 0;
    this.#foundGone.delete(key);
    return await removeVersions(this.#buckets, owner, new Set(objectsOf(files)));
  }

  async #ids({ owner, filename }: OwnedFile): Promise<(string | undefined)[]> {
    const { manifest } = await readManifest(this.#buckets.records, manifestKey(owner));
    return versionsIn(manifest, filename);
  }
}

/** Returns a version from its object. */
export function storedVersion(
  file: OwnedFile,
  version: number,
  { size, createTime, metadata }: StoredObject,
): StoredVersion {
  const about = parse(
    artifactAboutSchema,
    JSON.parse(metadata.about ?? 'null'),
    'the description of an artifact',
  );
  return { version, canonicalUri: artifactUri('artifact', file, version), size, createTime, about };
}

function ownerOf({ appName, userId, sessionId }: Manifest['owner']): ArtifactOwner {
  return { appName, userId, ...(sessionId !== undefined && { sessionId }) };
}

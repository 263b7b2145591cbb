import { BaseArtifactService } from '@agentmesh/agent';
import {
  type ArtifactAbout,
  type ArtifactOwner,
  artifactAboutSchema,
  artifactUri,
  type OwnedFile,
  type StoredVersion,
} from '@agentmesh/agent/internal';
import type { Bus, ObjectBucket, RecordBucket, StoredObject } from '@agentmesh/bus';
import { encodeToken, MeshError, parse } from '@agentmesh/protocol';
import { changeManifest, type Manifest, manifestKey, readManifest, versionsIn } from './manifest.ts';

/** Objects that are looked at, or deleted, at once. */
const atOnce = 16;
/** A writer that wrote nothing for so long has died, in ms. */
const abandonedMs = 3_600_000;

export interface SweepOptions {
  /** How long a writer wrote nothing, and a session is known to be gone, in ms; default one hour. */
  abandonedAfterMs?: number;
  isGone?(session: Required<ArtifactOwner>): Promise<boolean>;
}

type User = Pick<ArtifactOwner, 'appName' | 'userId'>;

/**
 * Artifacts in two buckets of the mesh: bytes are objects under random ids, and one record of each session, and of each user, says which object is
 * which version of which name. The object is stored first. A process that dies before the record names it leaves an object that nobody sees, until
 * {@link sweep} removes it.
 */
export class MeshArtifactService extends BaseArtifactService {
  readonly #objects: ObjectBucket;
  readonly #records: RecordBucket;
  /** Record → since when its session is known to be gone, in epoch ms. */
  readonly #foundGone = new Map<string, number>();

  constructor({ objects, records }: Pick<Bus, 'objects' | 'records'>, bucket: string) {
    super();
    this.#objects = objects(bucket);
    this.#records = records(bucket);
  }

  protected override async store(
    { owner, filename }: OwnedFile,
    about: ArtifactAbout,
    bytes: ReadableStream<Uint8Array>,
  ): Promise<number> {
    // Before anything is sent: names that no key can hold.
    manifestKey(owner);
    const { id } = await this.#objects.put(bytes, { about: JSON.stringify(about) });
    try {
      return await changeManifest(this.#records, owner, (manifest) => {
        const known = manifest.files.find(([name]) => name === filename)?.[1];
        if (!known) manifest.files.push([filename, [id]]);
        // It is there when its write was stored, and the word of that was lost.
        else if (!known.includes(id)) known.push(id);
        return Math.max(known?.indexOf(id) ?? 0, 0);
      });
    } catch (error) {
      // Of one that may have been stored nothing is known: it stays, for the sweep.
      if (!MeshError.from(error).retryable) await this.#objects.delete(id).catch(() => {});
      throw error;
    }
  }

  protected override async open(file: OwnedFile, version: number | undefined) {
    const ids = await this.#ids(file);
    const at = version ?? ids.length - 1;
    const id = ids[at];
    if (id === undefined) return undefined;
    const object = await this.#objects.open(id);
    if (object) return { ...storedVersion(file, at, object), bytes: object.bytes };
    if (!(await this.#ids(file)).includes(id)) return undefined;
    throw new MeshError('internal', `the bytes of artifact ${file.filename}, version ${at}, are lost`);
  }

  protected override async versions(file: OwnedFile): Promise<StoredVersion[]> {
    const ids = await this.#ids(file);
    const objects = await inGroups(ids, (id) => this.#objects.info(id));
    return objects.flatMap((object, version) => (object ? [storedVersion(file, version, object)] : []));
  }

  protected override async names(owner: ArtifactOwner): Promise<string[]> {
    const { manifest } = await readManifest(this.#records, manifestKey(owner));
    return manifest?.files.map(([name]) => name) ?? [];
  }

  /** First nobody sees them any more; then the objects go; then the note of them. Done again, it goes on where it was cut short. */
  protected override async remove(owner: ArtifactOwner, filename?: string): Promise<number> {
    const { gone, count } = await changeManifest(this.#records, owner, (manifest) => {
      const isRemoved = (name: string) => filename === undefined || name === filename;
      const removed = manifest.files.filter(([name]) => isRemoved(name));
      manifest.files = manifest.files.filter(([name]) => !isRemoved(name));
      manifest.gone.push(...removed.flatMap(([, versions]) => versions));
      return { gone: [...manifest.gone], count: removed.length };
    });
    await this.#purge(owner, gone);
    return count;
  }

  protected override async *owners({ appName, userId }: User): AsyncGenerator<ArtifactOwner> {
    for (const key of await this.#records.keys(encodeToken(appName), encodeToken(userId))) {
      const { manifest } = await readManifest(this.#records, key);
      if (manifest) yield ownerOf(manifest.owner);
    }
  }

  /**
   * Removes what processes left that died: objects that no record names and that nobody has written to for an hour, and those whose deletion was cut
   * short; and the files of sessions that are gone, as those that expired are, when they were found gone an hour before, too. Reads the index of all
   * artifacts: for now and then. Any number of processes may do it at once.
   *
   * @param isGone looks whether there is no such session; without it no session's files are removed
   * @returns how many objects were removed
   */
  async sweep({ abandonedAfterMs = abandonedMs, isGone }: SweepOptions = {}): Promise<number> {
    // Before the records: an object that is named later is not among them.
    const ids = new Set(await this.#objects.ids());
    let count = 0;
    for (const key of await this.#records.keys()) {
      const { manifest } = await readManifest(this.#records, key);
      if (!manifest) continue;
      for (const [, versions] of manifest.files) for (const id of versions) ids.delete(id);
      for (const id of manifest.gone) ids.delete(id);
      count += manifest.gone.length;
      await this.#purge(ownerOf(manifest.owner), manifest.gone);
      if (isGone) count += await this.#sweepSession(key, manifest, isGone, abandonedAfterMs);
    }
    const strays = await inGroups([...ids], async (id) => {
      const written = await this.#objects.lastWritten(id);
      if (written === undefined || written > Date.now() - abandonedAfterMs) return 0;
      await this.#objects.delete(id);
      return 1;
    });
    return strays.reduce<number>((sum, one) => sum + one, count);
  }

  /**
   * The files of a session as they are now. Returns how to remove these, and nothing that comes later: whoever finds the session gone afterwards knows that
   * nobody has them, though a new one is made under the same id meanwhile.
   */
  async filesNow(ref: Required<ArtifactOwner>): Promise<{ remove(): Promise<number> } | undefined> {
    const { appName, userId, sessionId } = ref;
    const owner = { appName, userId, sessionId };
    const { manifest } = await readManifest(this.#records, manifestKey(owner));
    const ids = manifest?.files.flatMap(([, versions]) => versions) ?? [];
    return ids.length === 0 ? undefined : { remove: () => this.#removeThese(owner, new Set(ids)) };
  }

  async #sweepSession(
    key: string,
    { owner: { appName, userId, sessionId }, files }: Manifest,
    isGone: NonNullable<SweepOptions['isGone']>,
    graceMs: number,
  ): Promise<number> {
    if (sessionId === undefined || files.length === 0) return 0;
    const owner = { appName, userId, sessionId };
    // After the files were read: a session is made before its files.
    if (!(await isGone(owner))) {
      this.#foundGone.delete(key);
      return 0;
    }
    const since = this.#foundGone.get(key) ?? Date.now();
    this.#foundGone.set(key, since);
    if (since > Date.now() - graceMs) return 0;
    this.#foundGone.delete(key);
    return await this.#removeThese(owner, new Set(files.flatMap(([, versions]) => versions)));
  }

  async #removeThese(owner: ArtifactOwner, ids: ReadonlySet<string>): Promise<number> {
    const gone = await changeManifest(this.#records, owner, (manifest) => {
      const isMeant = (id: string) => ids.has(id);
      manifest.gone.push(...manifest.files.flatMap(([, versions]) => versions.filter(isMeant)));
      manifest.files = manifest.files
        .map(([name, versions]): [string, string[]] => [name, versions.filter((id) => !isMeant(id))])
        .filter(([, versions]) => versions.length > 0);
      return manifest.gone.filter(isMeant);
    });
    await this.#purge(owner, gone);
    return gone.length;
  }

  async #purge(owner: ArtifactOwner, ids: string[]): Promise<void> {
    if (ids.length === 0) return;
    await inGroups(ids, (id) => this.#objects.delete(id));
    const deleted = new Set(ids);
    await changeManifest(this.#records, owner, (manifest) => {
      manifest.gone = manifest.gone.filter((id) => !deleted.has(id));
    });
  }

  async #ids({ owner, filename }: OwnedFile): Promise<string[]> {
    const { manifest } = await readManifest(this.#records, manifestKey(owner));
    return versionsIn(manifest, filename);
  }
}

function storedVersion(
  file: OwnedFile,
  version: number,
  { size, createTime, metadata }: StoredObject,
): StoredVersion {
  const about = parse(
    artifactAboutSchema,
    JSON.parse(metadata.about ?? 'null'),
    'what is kept of an artifact',
  );
  return { version, canonicalUri: artifactUri('artifact', file, version), size, createTime, about };
}

function ownerOf({ appName, userId, sessionId }: Manifest['owner']): ArtifactOwner {
  return { appName, userId, ...(sessionId !== undefined && { sessionId }) };
}

async function inGroups<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += atOnce)
    results.push(...(await Promise.all(items.slice(at, at + atOnce).map(work))));
  return results;
}

import { createHash } from 'node:crypto';
import type { ArtifactAbout, OwnedFile } from '@agentmesh/agent/internal';
import type { Bus, ObjectPieces, StoredPiece } from '@agentmesh/bus';
import type { FoundFile } from '@agentmesh/protocol';
import {
  addVersion,
  changeManifest,
  discarded,
  manifestKey,
  readManifest,
  versionsIn,
  withdrawVersion,
} from './manifest.ts';
import { storedVersion } from './mesh-artifact-service.ts';
import { type FileBuckets, purgeObjects } from './remove-objects.ts';

/** An upload of a file by a service. */
export interface Upload {
  service: string;
  file: OwnedFile;
  /** The choice of the service. */
  upload: string;
}

/** The files of a mesh in pieces, for the requests of services. No method keeps anything between two requests. */
export class Uploads {
  readonly #buckets: FileBuckets;

  constructor({ objects, records }: Pick<Bus, 'objects' | 'records'>, bucket: string) {
    this.#buckets = { objects: objects(bucket), records: records(bucket) };
  }

  /** Stores a piece of an upload, and returns its place. */
  async write(upload: Upload, index: number, bytes: Uint8Array): Promise<number> {
    manifestKey(upload.file.owner);
    return await this.#buckets.objects.putPiece(objectOf(upload), index, bytes);
  }

  /**
   * Makes the pieces of an upload the next version of its file. A repetition returns the same version. `isNew` is false
   * when the version may have been there before.
   *
   * @throws MeshError `failed_precondition` for other pieces than those that are stored, and for a discarded upload
   */
  async save(
    upload: Upload,
    pieces: ObjectPieces,
    about: ArtifactAbout,
  ): Promise<{ version: number; isNew: boolean }> {
    const { owner, filename } = upload.file;
    manifestKey(owner);
    const id = objectOf(upload);
    const { objects, records } = this.#buckets;
    await objects.complete(id, pieces, { about: JSON.stringify(about) });
    const saved = await addVersion(records, owner, filename, id);
    if ((await objects.pieceCount(id)) === pieces.count && (await objects.info(id))) return saved;
    // Another keeper has discarded the upload meanwhile.
    if (saved.isNew) await this.withdraw(upload);
    throw discarded(filename);
  }

  /** Removes what an upload has stored, unless it has become a version. */
  async discard(upload: Upload): Promise<void> {
    const { owner, filename } = upload.file;
    const { objects, records } = this.#buckets;
    const id = objectOf(upload);
    // A service that has stored nothing must not change the list of files.
    if ((await objects.pieceCount(id)) === 0 && !(await objects.info(id))) return;
    const isDiscarded = await changeManifest(records, owner, (manifest) => {
      if (versionsIn(manifest, filename).includes(id)) return false;
      if (!manifest.gone.includes(id)) manifest.gone.push(id);
      return true;
    });
    if (isDiscarded) await purgeObjects(this.#buckets, owner, [id]);
  }

  /** Removes the version that an upload has just become, whose number nobody knows yet. */
  async withdraw(upload: Upload): Promise<void> {
    const { owner, filename } = upload.file;
    const id = objectOf(upload);
    if (await withdrawVersion(this.#buckets.records, owner, filename, id))
      await purgeObjects(this.#buckets, owner, [id]);
  }

  /** Returns a version, by default the latest. */
  async find(file: OwnedFile, version: number | undefined): Promise<FoundFile | undefined> {
    const ids = await this.#ids(file);
    const at = version ?? ids.length - 1;
    const object = ids[at] === undefined ? undefined : await this.#buckets.objects.info(ids[at]);
    return object && { ...storedVersion(file, at, object), digest: object.digest };
  }

  /** Returns the first piece of a version from a place on. */
  async read(file: OwnedFile, version: number, from: number): Promise<StoredPiece | undefined> {
    const id = (await this.#ids(file))[version];
    return id === undefined ? undefined : await this.#buckets.objects.piece(id, from);
  }

  async #ids({ owner, filename }: OwnedFile): Promise<(string | undefined)[]> {
    const { manifest } = await readManifest(this.#buckets.records, manifestKey(owner));
    return versionsIn(manifest, filename);
  }
}

/**
 * Returns the id of the object of an upload. It follows from the service and the file, so that no service can add
 * to the object of another service, or of another file.
 */
function objectOf({ service, file: { owner, filename }, upload }: Upload): string {
  const { appName, userId, sessionId } = owner;
  const name = JSON.stringify([service, appName, userId, sessionId ?? null, filename, upload]);
  return createHash('sha256').update(name).digest('hex');
}

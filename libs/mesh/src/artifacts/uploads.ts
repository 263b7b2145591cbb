import { createHash } from 'node:crypto';
import type { ArtifactAbout, ArtifactOwner, OwnedFile } from '@agentmesh/agent/internal';
import type { Bus, ObjectBucket, ObjectPieces, RecordBucket, StoredPiece } from '@agentmesh/bus';
import type { FoundFile } from '@agentmesh/protocol';
import { addVersion, manifestKey, readManifest, versionsIn } from './manifest.ts';
import { storedVersion } from './mesh-artifact-service.ts';

/** An upload of a file by a service. */
export interface Upload {
  service: string;
  file: OwnedFile;
  /** The choice of the service. */
  upload: string;
}

/** The files of a mesh in pieces, for the requests of services. No method keeps anything between two requests. */
export class Uploads {
  readonly #objects: ObjectBucket;
  readonly #records: RecordBucket;

  constructor({ objects, records }: Pick<Bus, 'objects' | 'records'>, bucket: string) {
    this.#objects = objects(bucket);
    this.#records = records(bucket);
  }

  /** Stores a piece of an upload, and returns its place. */
  async write(upload: Upload, index: number, bytes: Uint8Array): Promise<number> {
    manifestKey(upload.file.owner);
    return await this.#objects.putPiece(objectOf(upload), index, bytes);
  }

  /** Makes the pieces of an upload the next version of its file. A repetition returns the same version. */
  async save(upload: Upload, pieces: ObjectPieces, about: ArtifactAbout): Promise<number> {
    const { owner, filename } = upload.file;
    manifestKey(owner);
    const id = objectOf(upload);
    await this.#objects.complete(id, pieces, { about: JSON.stringify(about) });
    return await addVersion(this.#records, owner, filename, id);
  }

  /** Returns a version, by default the latest. */
  async find(file: OwnedFile, version: number | undefined): Promise<FoundFile | undefined> {
    const ids = await this.#ids(file);
    const at = version ?? ids.length - 1;
    const object = ids[at] === undefined ? undefined : await this.#objects.info(ids[at]);
    return object && { ...storedVersion(file, at, object), digest: object.digest };
  }

  /** Returns the first piece of a version from a place on. */
  async read(file: OwnedFile, version: number, from: number): Promise<StoredPiece | undefined> {
    const id = (await this.#ids(file))[version];
    return id === undefined ? undefined : await this.#objects.piece(id, from);
  }

  async #ids({ owner, filename }: { owner: ArtifactOwner; filename: string }): Promise<string[]> {
    const { manifest } = await readManifest(this.#records, manifestKey(owner));
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

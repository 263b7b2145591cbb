import { createHash, randomUUID } from 'node:crypto';
import type {
  ArtifactPlace,
  ArtifactRef,
  ArtifactService,
  ArtifactStream,
  ArtifactUpload,
  ArtifactVersion,
  UserArtifact,
} from '@agentmesh/agent';
import {
  type ArtifactAbout,
  aboutStream,
  assertVersion,
  bytesOf,
  fileOf,
  putTogether,
  streamOf,
  takeApart,
  versionInfo,
} from '@agentmesh/agent/internal';
import { type Bus, chunksOf } from '@agentmesh/bus';
import { type FoundFile, MeshError, pieceBytes, type Subjects } from '@agentmesh/protocol';
import { type AskKeeper, askKeeper } from './ask-keeper.ts';

type Versioned = ArtifactRef & { version?: number | undefined };

/**
 * The artifacts of a service that has no right on the buckets of files: it asks a keeper, which reads and writes
 * files only for work that the service has in hand. A file goes in pieces, each with a request of its own, so that
 * no process holds a large file, and another keeper continues when one dies. The deletion of a session leaves its
 * files to the gateway, which sweeps the files of sessions that are gone.
 */
export class MeshKeeperArtifacts implements ArtifactService {
  readonly #ask: AskKeeper;
  readonly #service: string;

  constructor(bus: Pick<Bus, 'request' | 'service'>, subjects: Pick<Subjects, 'keeper'>) {
    this.#ask = askKeeper(bus, subjects.keeper(bus.service));
    this.#service = bus.service;
  }

  async saveArtifact({ artifact, customMetadata, ...ref }: Parameters<ArtifactService['saveArtifact']>[0]) {
    const { about, bytes } = takeApart(ref.filename, artifact, customMetadata);
    return await this.#upload(ref, about, streamOf(bytes));
  }

  async saveArtifactStream({ stream, mimeType, customMetadata, ...ref }: ArtifactRef & ArtifactUpload) {
    try {
      return await this.#upload(ref, aboutStream(mimeType, customMetadata), stream);
    } catch (error) {
      // The stream's producer must not wait for a reader that has gone.
      if (!stream.locked) await stream.cancel(error).catch(() => {});
      throw error;
    }
  }

  async loadArtifact(ref: Versioned) {
    const found = await this.#find(ref);
    return found && putTogether(found.about, await bytesOf(this.#bytes(ref, found), found.size));
  }

  async loadArtifactStream(ref: Versioned): Promise<ArtifactStream | undefined> {
    const found = await this.#find(ref);
    return found && { ...versionInfo(found), stream: this.#bytes(ref, found) };
  }

  async listArtifactKeys(place: ArtifactPlace): Promise<string[]> {
    return (await this.#ask('names', placeOf(place))).names;
  }

  async deleteArtifact(ref: ArtifactRef): Promise<void> {
    await this.#ask('delete', { ...placeOf(ref), filename: nameOf(ref) });
  }

  async listVersions(ref: ArtifactRef): Promise<number[]> {
    return (await this.listArtifactVersions(ref)).map(({ version }) => version);
  }

  async listArtifactVersions(ref: ArtifactRef): Promise<ArtifactVersion[]> {
    const { versions } = await this.#ask('versions', { ...placeOf(ref), filename: nameOf(ref) });
    return versions.map(versionInfo);
  }

  async getArtifactVersion(ref: Versioned): Promise<ArtifactVersion | undefined> {
    const found = await this.#find(ref);
    return found && versionInfo(found);
  }

  /** Does nothing for a session; see the class. @throws MeshError `permission_denied` for all files of a user */
  async deleteAll({ sessionId }: { appName: string; userId: string; sessionId?: string | undefined }) {
    if (sessionId === undefined) throw this.#refusal('delete');
    return 0;
  }

  // biome-ignore lint/correctness/useYield: the contract is a generator, and there is nothing to yield.
  async *listUserArtifacts(): AsyncGenerator<UserArtifact> {
    throw this.#refusal('list');
  }

  #refusal(verb: string): MeshError {
    return new MeshError(
      'permission_denied',
      `${this.#service} may not ${verb} all files of a user: a keeper gives it those of a session; ask the gateway`,
    );
  }

  async #find({ version, ...ref }: Versioned): Promise<FoundFile | undefined> {
    assertVersion(version);
    const wanted = version === undefined ? {} : { version };
    return (await this.#ask('find', { ...placeOf(ref), filename: nameOf(ref), ...wanted })).found;
  }

  async #upload(ref: ArtifactRef, about: ArtifactAbout, stream: ReadableStream<Uint8Array>): Promise<number> {
    const file = { ...placeOf(ref), filename: nameOf(ref), upload: randomUUID() };
    const hash = createHash('sha256');
    const pieces = { count: 0, first: 0, size: 0 };
    for await (const piece of chunksOf(stream, pieceBytes)) {
      const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.length).toString('base64');
      const { place } = await this.#ask('write', { ...file, index: pieces.count, bytes });
      if (pieces.count === 0) pieces.first = place;
      hash.update(piece);
      pieces.count += 1;
      pieces.size += piece.length;
    }
    const digest = hash.digest('base64url');
    return (await this.#ask('save', { ...file, pieces: { ...pieces, digest }, about })).version;
  }

  /** Reads the bytes of a version, one request for each pull. Fails when they are not the bytes that were saved. */
  #bytes(ref: ArtifactRef, { version, size, digest }: FoundFile): ReadableStream<Uint8Array> {
    const file = { ...placeOf(ref), filename: ref.filename, version };
    const hash = createHash('sha256');
    let [from, remaining] = [0, size];
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
      if (remaining > 0) {
        const { bytes: base64, next } = await this.#ask('read', { ...file, from });
        const bytes = Buffer.from(base64, 'base64');
        if (bytes.length === 0)
          throw new MeshError('unavailable', `artifact ${ref.filename} was deleted while it was read`);
        from = next;
        remaining -= bytes.length;
        hash.update(bytes);
        controller.enqueue(bytes);
      }
      if (remaining > 0) return;
      if (remaining < 0 || (digest !== undefined && hash.digest('base64url') !== digest))
        throw new MeshError('internal', `artifact ${ref.filename} is not what was saved`);
      controller.close();
    };
    return new ReadableStream({ pull }, { highWaterMark: 0 });
  }
}

function placeOf({ appName, userId, sessionId }: ArtifactPlace) {
  return { app: appName, user: userId, session: sessionId };
}

/** Checks the name here, so that a wrong name is an error of the caller's code. */
function nameOf(ref: ArtifactRef): string {
  return fileOf(ref).filename;
}

import type { Part } from '@google/genai';
import type {
  ArtifactPlace,
  ArtifactRef,
  ArtifactService,
  ArtifactStream,
  ArtifactUpload,
  ArtifactVersion,
  UserArtifact,
} from './artifact-service.ts';
import { bytesOf, streamOf } from './byte-stream.ts';
import {
  type ArtifactAbout,
  aboutStream,
  assertFilename,
  assertVersion,
  isOfUser,
  putTogether,
  takeApart,
} from './stored-part.ts';

/** The owner of a file: a session, or (without a session id) the user. */
export interface ArtifactOwner {
  appName: string;
  userId: string;
  sessionId?: string;
}

/** A file by its owner and name. */
export interface OwnedFile {
  owner: ArtifactOwner;
  filename: string;
}

/** One version as it is stored. */
export interface StoredVersion {
  version: number;
  canonicalUri: string;
  /** In bytes. */
  size: number;
  /** In epoch ms. */
  createTime: number;
  about: ArtifactAbout;
}

/**
 * The common base of the artifact services: it splits parts into bytes and metadata, and finds the owner of a
 * name. A subclass stores the bytes and numbers the versions.
 */
export abstract class BaseArtifactService implements ArtifactService {
  /** Stores bytes as a new version: all of them or nothing. Fails when the stream fails. */
  protected abstract store(
    file: OwnedFile,
    about: ArtifactAbout,
    bytes: ReadableStream<Uint8Array>,
  ): Promise<number>;
  /** Returns a version, by default the latest, with its bytes. */
  protected abstract open(
    file: OwnedFile,
    version: number | undefined,
  ): Promise<(StoredVersion & { bytes: ReadableStream<Uint8Array> }) | undefined>;
  /** Returns the versions of a file, in order. */
  protected abstract versions(file: OwnedFile): Promise<StoredVersion[]>;
  protected abstract names(owner: ArtifactOwner): Promise<string[]>;
  /** Deletes all versions of a file, or of all files of an owner. Returns the number of files. */
  protected abstract remove(owner: ArtifactOwner, filename?: string): Promise<number>;
  /** Lists the owners that belong to a user: the sessions with files, and the user. */
  protected abstract owners(user: { appName: string; userId: string }): AsyncIterable<ArtifactOwner>;

  async saveArtifact({ artifact, customMetadata, ...ref }: Parameters<ArtifactService['saveArtifact']>[0]) {
    const file = fileOf(ref);
    const { about, bytes } = takeApart(ref.filename, artifact, customMetadata);
    return await this.store(file, about, streamOf(bytes));
  }

  async saveArtifactStream({ stream, mimeType, customMetadata, ...ref }: ArtifactRef & ArtifactUpload) {
    try {
      return await this.store(fileOf(ref), aboutStream(mimeType, customMetadata), stream);
    } catch (error) {
      // The stream's producer must not wait for a reader that has gone.
      if (!stream.locked) await stream.cancel(error).catch(() => {});
      throw error;
    }
  }

  async loadArtifact({ version, ...ref }: ArtifactRef & { version?: number | undefined }) {
    const storedVersion = await this.open(fileOf(ref), assertVersion(version));
    return (
      storedVersion &&
      (putTogether(
        storedVersion.about,
        await bytesOf(storedVersion.bytes, storedVersion.size),
      ) satisfies Part)
    );
  }

  async loadArtifactStream({
    version,
    ...ref
  }: ArtifactRef & { version?: number | undefined }): Promise<ArtifactStream | undefined> {
    const storedVersion = await this.open(fileOf(ref), assertVersion(version));
    return storedVersion && { ...versionInfo(storedVersion), stream: storedVersion.bytes };
  }

  async listArtifactKeys({ appName, userId, sessionId }: ArtifactPlace): Promise<string[]> {
    const lists = [this.names({ appName, userId, sessionId }), this.names({ appName, userId })];
    return (await Promise.all(lists)).flat().sort();
  }

  async deleteArtifact(ref: ArtifactRef): Promise<void> {
    const { owner, filename } = fileOf(ref);
    await this.remove(owner, filename);
  }

  async listVersions(ref: ArtifactRef): Promise<number[]> {
    return (await this.versions(fileOf(ref))).map(({ version }) => version);
  }

  async listArtifactVersions(ref: ArtifactRef): Promise<ArtifactVersion[]> {
    return (await this.versions(fileOf(ref))).map(versionInfo);
  }

  async getArtifactVersion({ version, ...ref }: ArtifactRef & { version?: number | undefined }) {
    assertVersion(version);
    const all = await this.versions(fileOf(ref));
    const storedVersion = version === undefined ? all.at(-1) : all.find((each) => each.version === version);
    return storedVersion && versionInfo(storedVersion);
  }

  async deleteAll({
    appName,
    userId,
    sessionId,
  }: {
    appName: string;
    userId: string;
    sessionId?: string | undefined;
  }) {
    if (sessionId !== undefined) return await this.remove({ appName, userId, sessionId });
    let count = 0;
    for await (const owner of this.owners({ appName, userId })) count += await this.remove(owner);
    return count;
  }

  async *listUserArtifacts({
    appName,
    userId,
  }: {
    appName: string;
    userId: string;
  }): AsyncGenerator<UserArtifact> {
    for await (const owner of this.owners({ appName, userId })) {
      for (const filename of (await this.names(owner)).sort()) {
        yield { ...(owner.sessionId !== undefined && { sessionId: owner.sessionId }), filename };
      }
    }
  }
}

/** Returns the file of a request: its name decides whether it belongs to the session or to the user. */
export function fileOf({ appName, userId, sessionId, filename }: ArtifactRef): OwnedFile {
  const ofUser = isOfUser(assertFilename(filename));
  return { owner: ofUser ? { appName, userId } : { appName, userId, sessionId }, filename };
}

/** Returns the metadata of a stored version. */
export function versionInfo({
  version,
  canonicalUri,
  size,
  createTime,
  about,
}: StoredVersion): ArtifactVersion {
  const { mimeType, customMetadata } = about;
  return { version, canonicalUri, mimeType, size, createTime, customMetadata };
}

/** Names a version as ADK does: the name is the same in every store, unlike an address. */
export function artifactUri(scheme: string, { owner, filename }: OwnedFile, version: number): string {
  const { appName, userId, sessionId } = owner;
  const session = sessionId === undefined ? [] : ['sessions', sessionId];
  const path = ['apps', appName, 'users', userId, ...session, 'artifacts', filename, 'versions', version];
  return `${scheme}://${path.map(encodeURIComponent).join('/')}`;
}

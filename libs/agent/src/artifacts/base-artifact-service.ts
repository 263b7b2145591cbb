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

/** Whose file: of a session, or without a session id of the user. */
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

/** One version as a store keeps it. */
export interface StoredVersion {
  version: number;
  canonicalUri: string;
  /** In bytes. */
  size: number;
  /** Epoch ms. */
  createTime: number;
  about: ArtifactAbout;
}

/**
 * What the services for artifacts share: parts are taken apart into bytes and what is known of them, and names find their owners. A store says
 * how bytes are kept, and how a version gets its number.
 */
export abstract class BaseArtifactService implements ArtifactService {
  /** Keeps bytes as a new version: all of them and then its number, or nothing. Fails as the stream does. */
  protected abstract store(
    file: OwnedFile,
    about: ArtifactAbout,
    bytes: ReadableStream<Uint8Array>,
  ): Promise<number>;
  /** A version, or the latest, with its bytes. */
  protected abstract open(
    file: OwnedFile,
    version: number | undefined,
  ): Promise<(StoredVersion & { bytes: ReadableStream<Uint8Array> }) | undefined>;
  /** The versions of a file, in order. */
  protected abstract versions(file: OwnedFile): Promise<StoredVersion[]>;
  protected abstract names(owner: ArtifactOwner): Promise<string[]>;
  /** Deletes all versions of a file, or of all files of an owner; returns how many files there were. */
  protected abstract remove(owner: ArtifactOwner, filename?: string): Promise<number>;
  /** The owners that a user is: the sessions that have files, and the user. */
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
      // Whoever fills it must not wait for a reader that has gone.
      if (!stream.locked) await stream.cancel(error).catch(() => {});
      throw error;
    }
  }

  async loadArtifact({ version, ...ref }: ArtifactRef & { version?: number | undefined }) {
    const found = await this.open(fileOf(ref), assertVersion(version));
    return found && (putTogether(found.about, await bytesOf(found.bytes, found.size)) satisfies Part);
  }

  async loadArtifactStream({
    version,
    ...ref
  }: ArtifactRef & { version?: number | undefined }): Promise<ArtifactStream | undefined> {
    const found = await this.open(fileOf(ref), assertVersion(version));
    return found && { ...shown(found), stream: found.bytes };
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
    return (await this.versions(fileOf(ref))).map(shown);
  }

  async getArtifactVersion({ version, ...ref }: ArtifactRef & { version?: number | undefined }) {
    assertVersion(version);
    const all = await this.versions(fileOf(ref));
    const found = version === undefined ? all.at(-1) : all.find((each) => each.version === version);
    return found && shown(found);
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

function fileOf({ appName, userId, sessionId, filename }: ArtifactRef): OwnedFile {
  const ofUser = isOfUser(assertFilename(filename));
  return { owner: ofUser ? { appName, userId } : { appName, userId, sessionId }, filename };
}

function shown({ version, canonicalUri, size, createTime, about }: StoredVersion): ArtifactVersion {
  const { mimeType, customMetadata } = about;
  return { version, canonicalUri, mimeType, size, createTime, customMetadata };
}

/** ADK's way to name a version: in whatever store it lies, and unlike an address the same everywhere. */
export function artifactUri(scheme: string, { owner, filename }: OwnedFile, version: number): string {
  const { appName, userId, sessionId } = owner;
  const session = sessionId === undefined ? [] : ['sessions', sessionId];
  const path = ['apps', appName, 'users', userId, ...session, 'artifacts', filename, 'versions', version];
  return `${scheme}://${path.map(encodeURIComponent).join('/')}`;
}

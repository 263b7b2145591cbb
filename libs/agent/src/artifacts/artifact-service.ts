import type { Part } from '@google/genai';

/** A place where files lie: a session, and beside it the files of its user. */
export interface ArtifactPlace {
  appName: string;
  userId: string;
  sessionId: string;
}

/** A file, with all its versions. */
export interface ArtifactRef extends ArtifactPlace {
  filename: string;
}

/** ADK's names of what the methods of {@link ArtifactService} take. */
export type SaveArtifactRequest = ArtifactRef & {
  artifact: Part;
  customMetadata?: Record<string, unknown> | undefined;
};
export type LoadArtifactRequest = ArtifactRef & { version?: number | undefined };
export type ListArtifactKeysRequest = ArtifactPlace;
export type DeleteArtifactRequest = ArtifactRef;
export type ListVersionsRequest = ArtifactRef;

/** What is known of one version of a file without reading it. */
export interface ArtifactVersion {
  /** From 0. */
  version: number;
  /** Where it lies, for logs and for people; not an address to load it from. */
  canonicalUri: string;
  mimeType: string;
  /** In bytes; of text as UTF-8. */
  size: number;
  /** Epoch ms. */
  createTime: number;
  customMetadata: Record<string, unknown>;
}

/** The bytes of one version as they come, so that a large file is never held as a whole. */
export interface ArtifactStream extends ArtifactVersion {
  /** To be read to its end or cancelled. Fails when what comes is not what was saved. */
  stream: ReadableStream<Uint8Array>;
}

/** A file of a user: of one session, or without a session id one whose name starts with `user:`. */
export interface UserArtifact {
  sessionId?: string;
  filename: string;
}

/**
 * Keeps files of sessions, in versions from 0; names that start with `user:` belong to the user, across sessions. A version is there as a whole or not
 * at all, and two that save one name at the same time get two versions, in whatever processes.
 *
 * All methods throw MeshError: `invalid_argument` for names that no file can have, `unavailable` while the files cannot be reached.
 */
export interface ArtifactService {
  /** Of files that are those of one session, whatever session is named: which. So it is for an agent that works for another one. */
  readonly sessionId?: string;
  /** Keeps a new version and gives its number. Of `inlineData`, `text` or `fileData` one must be there. */
  saveArtifact(r: SaveArtifactRequest): Promise<number>;
  /** The version asked for, or the latest; undefined when there is none. Holds the whole file. */
  loadArtifact(r: LoadArtifactRequest): Promise<Part | undefined>;
  /** Names of the session's files and of the user's, sorted. */
  listArtifactKeys(r: ArtifactPlace): Promise<string[]>;
  /** Deletes all versions; what is not there without a word. */
  deleteArtifact(r: ArtifactRef): Promise<void>;
  listVersions(r: ArtifactRef): Promise<number[]>;
  listArtifactVersions(r: ArtifactRef): Promise<ArtifactVersion[]>;
  /** The version asked for, or the latest. */
  getArtifactVersion(r: LoadArtifactRequest): Promise<ArtifactVersion | undefined>;
  /** As `saveArtifact`, of bytes as they come; a stream that fails leaves no version. Later loads find it as `inlineData`. */
  saveArtifactStream(r: ArtifactRef & ArtifactUpload): Promise<number>;
  /** As `loadArtifact`, of bytes as they come; of a text they are its UTF-8, of `fileData` there are none. */
  loadArtifactStream(r: ArtifactRef & { version?: number | undefined }): Promise<ArtifactStream | undefined>;
  /**
   * Deletes the files of one session, without those of the user; or without a session id all files of a user. Cut short, it is done by asking again.
   *
   * @returns how many files there were, versions not counted
   */
  deleteAll(r: { appName: string; userId: string; sessionId?: string | undefined }): Promise<number>;
  /** All files of a user, of all sessions. */
  listUserArtifacts(r: { appName: string; userId: string }): AsyncIterable<UserArtifact>;
}

/** A file to be kept. */
export interface ArtifactUpload {
  stream: ReadableStream<Uint8Array>;
  /** Default `application/octet-stream`. */
  mimeType?: string | undefined;
  customMetadata?: Record<string, unknown> | undefined;
}

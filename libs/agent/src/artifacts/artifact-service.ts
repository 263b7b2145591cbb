import type { Part } from '@google/genai';

/** The place of files: a session, with the files of its user. */
export interface ArtifactPlace {
  appName: string;
  userId: string;
  sessionId: string;
}

/** A file, with all its versions. */
export interface ArtifactRef extends ArtifactPlace {
  filename: string;
}

/** ADK's names for the parameters of {@link ArtifactService}. */
export type SaveArtifactRequest = ArtifactRef & {
  artifact: Part;
  customMetadata?: Record<string, unknown> | undefined;
};
export type LoadArtifactRequest = ArtifactRef & { version?: number | undefined };
export type ListArtifactKeysRequest = ArtifactPlace;
export type DeleteArtifactRequest = ArtifactRef;
export type ListVersionsRequest = ArtifactRef;

/** The metadata of one version of a file, available without reading it. */
export interface ArtifactVersion {
  /** From 0. */
  version: number;
  /** Location of the version, for logs and people. It is not an address for loading. */
  canonicalUri: string;
  mimeType: string;
  /** In bytes; of text as UTF-8. */
  size: number;
  /** In epoch ms. */
  createTime: number;
  customMetadata: Record<string, unknown>;
}

/** One version as a stream, so that a large file is never in memory as a whole. */
export interface ArtifactStream extends ArtifactVersion {
  /**
   * The bytes. The reader reads the stream to the end or cancels it. The stream fails when the bytes differ
   * from the saved bytes.
   */
  stream: ReadableStream<Uint8Array>;
}

/**
 * A file of a user: a file of one session, or (without a session id) a file whose name starts with `user:`.
 */
export interface UserArtifact {
  sessionId?: string;
  filename: string;
}

/**
 * A store of files of sessions, in versions from 0. Names that start with `user:` belong to the user, across
 * sessions. A version is stored completely or not at all. When two processes save the same name at the same
 * time, there are two versions.
 *
 * All methods throw MeshError: `invalid_argument` for invalid names, `unavailable` while the files cannot be
 * reached.
 */
export interface ArtifactService {
  /**
   * Set for a service that always uses the files of this session, whatever session a request names, as for an
   * agent that works for another agent.
   */
  readonly sessionId?: string;
  /** Saves a new version and returns its number. The part must have `inlineData`, `text` or `fileData`. */
  saveArtifact(r: SaveArtifactRequest): Promise<number>;
  /** Loads a whole version, by default the latest. Returns undefined when there is none. */
  loadArtifact(r: LoadArtifactRequest): Promise<Part | undefined>;
  /** Lists the names of the session's files and of the user's files, sorted. */
  listArtifactKeys(r: ArtifactPlace): Promise<string[]>;
  /** Deletes all versions; does nothing when there is no such file. */
  deleteArtifact(r: ArtifactRef): Promise<void>;
  listVersions(r: ArtifactRef): Promise<number[]>;
  listArtifactVersions(r: ArtifactRef): Promise<ArtifactVersion[]>;
  /** Returns the metadata of a version, by default the latest. */
  getArtifactVersion(r: LoadArtifactRequest): Promise<ArtifactVersion | undefined>;
  /**
   * Saves a file as `saveArtifact` does, from a stream; a stream that fails leaves no version. Later loads
   * return it as `inlineData`.
   */
  saveArtifactStream(r: ArtifactRef & ArtifactUpload): Promise<number>;
  /** Loads a file as `loadArtifact` does, as a stream: of a text its UTF-8 bytes, of `fileData` no bytes. */
  loadArtifactStream(r: ArtifactRef & { version?: number | undefined }): Promise<ArtifactStream | undefined>;
  /**
   * Deletes the files of one session, without the user's own files; or, without a session id, all files of a
   * user. After an interruption a repeated call completes the deletion.
   *
   * @returns the number of files, not of versions
   */
  deleteAll(r: { appName: string; userId: string; sessionId?: string | undefined }): Promise<number>;
  /** Lists all files of a user, of all sessions. */
  listUserArtifacts(r: { appName: string; userId: string }): AsyncIterable<UserArtifact>;
}

/** The content of a file to save. */
export interface ArtifactUpload {
  stream: ReadableStream<Uint8Array>;
  /** Default `application/octet-stream`. */
  mimeType?: string | undefined;
  customMetadata?: Record<string, unknown> | undefined;
}

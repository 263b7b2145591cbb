import type { Part } from '@google/genai';

/** Keeps files of sessions, in versions from 0; names that start with `user:` belong to the user, across sessions. */
export interface ArtifactService {
  saveArtifact(r: {
    appName: string;
    userId: string;
    sessionId: string;
    filename: string;
    artifact: Part;
    customMetadata?: Record<string, unknown>;
  }): Promise<number>;
  /** The version asked for, or the latest; undefined when there is none. */
  loadArtifact(r: {
    appName: string;
    userId: string;
    sessionId: string;
    filename: string;
    version?: number;
  }): Promise<Part | undefined>;
  listArtifactKeys(r: { appName: string; userId: string; sessionId: string }): Promise<string[]>;
  deleteArtifact(r: { appName: string; userId: string; sessionId: string; filename: string }): Promise<void>;
  listVersions(r: {
    appName: string;
    userId: string;
    sessionId: string;
    filename: string;
  }): Promise<number[]>;
}

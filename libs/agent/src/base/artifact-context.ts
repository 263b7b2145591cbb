import type { EventActions } from '@agentmesh/protocol';
import type { Part } from '@google/genai';
import type {
  ArtifactService,
  ArtifactStream,
  ArtifactUpload,
  ArtifactVersion,
} from '../artifacts/artifact-service.ts';
import { missingService, ReadonlyContext } from './readonly-context.ts';

/**
 * What tools and callbacks do with files. A file is kept at once, whatever becomes of the call; the event that is committed next names it in its
 * `artifactDelta`.
 */
export abstract class ArtifactContext extends ReadonlyContext {
  abstract readonly actions: EventActions;

  /**
   * Keeps a file of the session, or of the user when its name starts with `user:`, and gives its version, from 0.
   *
   * @throws MeshError `failed_precondition` without an artifact service, `invalid_argument` for a part that is no file
   */
  async saveArtifact(
    filename: string,
    artifact: Part,
    customMetadata?: Record<string, unknown>,
  ): Promise<number> {
    const save = this.#artifacts().saveArtifact({ ...this.#file(filename), artifact, customMetadata });
    return this.#note(filename, await save);
  }

  /** As {@link saveArtifact}, of bytes as they come: however large, they are never held as a whole. */
  async saveArtifactStream(filename: string, upload: ArtifactUpload): Promise<number> {
    const save = this.#artifacts().saveArtifactStream({ ...this.#file(filename), ...upload });
    return this.#note(filename, await save);
  }

  /** A version of a file, by default the latest; undefined when there is none. */
  async loadArtifact(filename: string, version?: number): Promise<Part | undefined> {
    return await this.#artifacts().loadArtifact({ ...this.#file(filename), version });
  }

  /** As {@link loadArtifact}, its bytes as they come. Read the stream to its end, or cancel it. */
  async loadArtifactStream(filename: string, version?: number): Promise<ArtifactStream | undefined> {
    return await this.#artifacts().loadArtifactStream({ ...this.#file(filename), version });
  }

  /** What is known of a version, by default of the latest, without reading it. */
  async getArtifactVersion(filename: string, version?: number): Promise<ArtifactVersion | undefined> {
    return await this.#artifacts().getArtifactVersion({ ...this.#file(filename), version });
  }

  /** The names of the session's files, and of the user's. */
  async listArtifacts(): Promise<string[]> {
    const { appName, userId, sessionId } = this;
    return await this.#artifacts().listArtifactKeys({ appName, userId, sessionId });
  }

  #note(filename: string, version: number): number {
    this.actions.artifactDelta[filename] = version;
    return version;
  }

  #file(filename: string) {
    return { appName: this.appName, userId: this.userId, sessionId: this.sessionId, filename };
  }

  #artifacts(): ArtifactService {
    const { artifactService } = this.services;
    if (!artifactService) throw missingService('artifactService');
    return artifactService;
  }
}

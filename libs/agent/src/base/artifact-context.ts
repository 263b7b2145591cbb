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
 * The part of a context that handles files. A file is saved at once, even if the call fails later; the next
 * committed event names it in its `artifactDelta`.
 */
export abstract class ArtifactContext extends ReadonlyContext {
  abstract readonly actions: EventActions;

  /**
   * Saves a file of the session, or of the user when its name starts with `user:`. Returns its version, from
   * 0.
   *
   * @throws MeshError `failed_precondition` without an artifact service, `invalid_argument` for a part that
   * is no file
   */
  async saveArtifact(
    filename: string,
    artifact: Part,
    customMetadata?: Record<string, unknown>,
  ): Promise<number> {
    const save = this.#artifacts().saveArtifact({ ...this.#file(filename), artifact, customMetadata });
    return this.#note(filename, await save);
  }

  /**
   * Saves a file as {@link saveArtifact} does, from a stream. The bytes are never held in memory as a whole.
   */
  async saveArtifactStream(filename: string, upload: ArtifactUpload): Promise<number> {
    const save = this.#artifacts().saveArtifactStream({ ...this.#file(filename), ...upload });
    return this.#note(filename, await save);
  }

  /** Loads a version of a file, by default the latest. Returns undefined when there is none. */
  async loadArtifact(filename: string, version?: number): Promise<Part | undefined> {
    return await this.#artifacts().loadArtifact({ ...this.#file(filename), version });
  }

  /**
   * Loads a file as {@link loadArtifact} does, as a stream. The caller reads the stream to its end, or
   * cancels it.
   */
  async loadArtifactStream(filename: string, version?: number): Promise<ArtifactStream | undefined> {
    return await this.#artifacts().loadArtifactStream({ ...this.#file(filename), version });
  }

  /** Returns the metadata of a version, by default the latest, without reading the file. */
  async getArtifactVersion(filename: string, version?: number): Promise<ArtifactVersion | undefined> {
    return await this.#artifacts().getArtifactVersion({ ...this.#file(filename), version });
  }

  /** Lists the names of the session's files and of the user's files. */
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

import { MeshError } from '@agentmesh/protocol';
import type { Part } from '@google/genai';
import type { ArtifactService } from './artifact-service.ts';

type Place = { appName: string; userId: string; sessionId: string };

/** Files in memory; gone with the process. */
export class InMemoryArtifactService implements ArtifactService {
  /** Versions by owner (a session, or a user for names with `user:`) and name. */
  readonly #files = new Map<string, Map<string, Part[]>>();

  async saveArtifact(request: Parameters<ArtifactService['saveArtifact']>[0]): Promise<number> {
    const { filename, artifact } = request;
    assertArtifact(filename, artifact);
    const owner = ownerOf(request, filename);
    const files = this.#files.get(owner) ?? new Map<string, Part[]>();
    this.#files.set(owner, files);
    const versions = files.get(filename) ?? [];
    files.set(filename, versions);
    return versions.push(structuredClone(artifact)) - 1;
  }

  async loadArtifact(request: Parameters<ArtifactService['loadArtifact']>[0]): Promise<Part | undefined> {
    const versions = this.#versions(request, request.filename);
    return structuredClone(versions.at(request.version ?? -1));
  }

  async listArtifactKeys(request: Place): Promise<string[]> {
    const owners = [ownerOf(request, ''), ownerOf(request, 'user:')];
    return owners.flatMap((owner) => [...(this.#files.get(owner)?.keys() ?? [])]).sort();
  }

  async deleteArtifact(request: Place & { filename: string }): Promise<void> {
    this.#files.get(ownerOf(request, request.filename))?.delete(request.filename);
  }

  async listVersions(request: Place & { filename: string }): Promise<number[]> {
    return [...this.#versions(request, request.filename).keys()];
  }

  #versions(place: Place, filename: string): Part[] {
    return this.#files.get(ownerOf(place, filename))?.get(filename) ?? [];
  }
}

function ownerOf({ appName, userId, sessionId }: Place, filename: string): string {
  return JSON.stringify(filename.startsWith('user:') ? [appName, userId] : [appName, userId, sessionId]);
}

/** @throws MeshError `invalid_argument` for a name or content that cannot be a file. */
export function assertArtifact(filename: string, { inlineData, text, fileData }: Part): void {
  if (filename === '' || filename === 'user:')
    throw new MeshError('invalid_argument', 'an artifact needs a name');
  if (inlineData === undefined && text === undefined && fileData === undefined) {
    throw new MeshError(
      'invalid_argument',
      `artifact ${filename} has no content: give it text, inlineData or fileData`,
    );
  }
}

import { assertOptions } from '@agentmesh/protocol';
import {
  type ArtifactOwner,
  artifactUri,
  BaseArtifactService,
  type OwnedFile,
  type StoredVersion,
} from './base-artifact-service.ts';
import { streamOf } from './byte-stream.ts';
import type { ArtifactAbout } from './stored-part.ts';

type Kept = StoredVersion & { chunks: Uint8Array[] };
type User = Pick<ArtifactOwner, 'appName' | 'userId'>;

/** An artifact service in the memory of this process. */
export class InMemoryArtifactService extends BaseArtifactService {
  /** Versions by owner (a session, or a user for names with `user:`) and name. */
  readonly #files = new Map<string, { owner: ArtifactOwner; names: Map<string, Kept[]> }>();

  /** @throws MeshError `invalid_argument` for any option, as there are none */
  constructor(options: Record<string, never> = {}) {
    super();
    assertOptions(
      'an InMemoryArtifactService',
      options,
      {},
      { isOpen: new.target !== InMemoryArtifactService },
    );
  }

  protected override async store(
    file: OwnedFile,
    about: ArtifactAbout,
    bytes: ReadableStream<Uint8Array>,
  ): Promise<number> {
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of bytes) {
      chunks.push(chunk.slice());
      size += chunk.length;
    }
    const { owner, filename } = file;
    const files = this.#files.get(keyOf(owner)) ?? { owner, names: new Map<string, Kept[]>() };
    this.#files.set(keyOf(owner), files);
    const versions = files.names.get(filename) ?? [];
    files.names.set(filename, versions);
    const version = versions.length;
    const canonicalUri = artifactUri('memory', file, version);
    versions.push({ version, canonicalUri, size, createTime: Date.now(), about, chunks });
    return version;
  }

  protected override async open(file: OwnedFile, version: number | undefined) {
    const entry = this.#versions(file).at(version ?? -1);
    if (!entry) return undefined;
    const { chunks, ...stored } = entry;
    return { ...structuredClone(stored), bytes: streamOf(...chunks.map((chunk) => chunk.slice())) };
  }

  protected override async versions(file: OwnedFile): Promise<StoredVersion[]> {
    return this.#versions(file).map(({ chunks: _chunks, ...stored }) => structuredClone(stored));
  }

  protected override async names(owner: ArtifactOwner): Promise<string[]> {
    return [...(this.#files.get(keyOf(owner))?.names.keys() ?? [])];
  }

  protected override async remove(owner: ArtifactOwner, filename?: string): Promise<number> {
    const names = this.#files.get(keyOf(owner))?.names;
    if (filename !== undefined) return names?.delete(filename) ? 1 : 0;
    this.#files.delete(keyOf(owner));
    return names?.size ?? 0;
  }

  protected override async *owners({ appName, userId }: User): AsyncGenerator<ArtifactOwner> {
    for (const { owner } of [...this.#files.values()]) {
      if (owner.appName === appName && owner.userId === userId) yield owner;
    }
  }

  #versions({ owner, filename }: OwnedFile): Kept[] {
    return this.#files.get(keyOf(owner))?.names.get(filename) ?? [];
  }
}

function keyOf({ appName, userId, sessionId }: ArtifactOwner): string {
  return JSON.stringify([appName, userId, ...(sessionId === undefined ? [] : [sessionId])]);
}

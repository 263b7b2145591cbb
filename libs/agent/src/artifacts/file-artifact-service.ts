import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';
import { parse } from '@agentmesh/protocol';
import { z } from 'zod';
import {
  type ArtifactOwner,
  BaseArtifactService,
  type OwnedFile,
  type StoredVersion,
} from './base-artifact-service.ts';
import { type ArtifactAbout, artifactAboutSchema } from './stored-part.ts';
import {
  list,
  part,
  removeEmpty,
  sweep,
  takeVersion,
  unlessMissing,
  versionsIn,
  writeThrough,
} from './version-folders.ts';

const recordSchema = z.object({
  owner: z.object({ appName: z.string(), userId: z.string(), sessionId: z.string().optional() }),
  filename: z.string(),
  size: z.number(),
  createTime: z.number(),
  about: artifactAboutSchema,
});
type FileRecord = z.infer<typeof recordSchema>;
type User = Pick<ArtifactOwner, 'appName' | 'userId'>;

/**
 * Files in a folder that any number of processes may share:
 * `<app>/<user>/<owner>/<name>/<version>/{content,record.json}`. A version is written to a temporary folder
 * and moved into place by one rename. So a version exists completely or not at all, and no two versions have
 * the same number. Names are never used as paths: each name becomes a few plain letters and a hash.
 */
export class FileArtifactService extends BaseArtifactService {
  readonly #root: string;
  readonly #unfinished: string;
  #swept: Promise<void> | undefined;

  constructor(folder: string) {
    super();
    this.#root = join(resolve(folder), 'files');
    this.#unfinished = join(resolve(folder), 'unfinished');
  }

  protected override async store(
    file: OwnedFile,
    about: ArtifactAbout,
    bytes: ReadableStream<Uint8Array>,
  ): Promise<number> {
    this.#swept ??= sweep(this.#unfinished);
    await this.#swept;
    const unfinishedVersion = join(this.#unfinished, randomUUID());
    await mkdir(unfinishedVersion, { recursive: true });
    try {
      const content = join(unfinishedVersion, 'content');
      await pipeline(Readable.fromWeb(bytes), createWriteStream(content, { flags: 'wx' }));
      const record: FileRecord = {
        owner: file.owner,
        filename: file.filename,
        size: (await stat(content)).size,
        createTime: Date.now(),
        about,
      };
      await writeThrough(join(unfinishedVersion, 'record.json'), JSON.stringify(record), content);
      return await takeVersion(unfinishedVersion, this.#pathOf(file));
    } catch (error) {
      await rm(unfinishedVersion, { recursive: true, force: true });
      throw error;
    }
  }

  protected override async open(file: OwnedFile, wanted: number | undefined) {
    const version = wanted ?? (await versionsIn(this.#pathOf(file))).at(-1);
    const stored = version === undefined ? undefined : await this.#read(file, version);
    if (!stored) return undefined;
    // The file is opened before this returns, so a version that is deleted now can still be read to its end.
    const handle = await unlessMissing(open(join(this.#pathOf(file), String(version), 'content')));
    if (!handle) return undefined;
    const bytes = Readable.toWeb(createReadStream('', { fd: handle })) as ReadableStream<Uint8Array>;
    return { ...stored, bytes };
  }

  protected override async versions(file: OwnedFile): Promise<StoredVersion[]> {
    const records = (await versionsIn(this.#pathOf(file))).map((version) => this.#read(file, version));
    return (await Promise.all(records)).filter((stored) => stored !== undefined);
  }

  protected override async names(owner: ArtifactOwner): Promise<string[]> {
    const records = await recordsOf(this.#pathOfOwner(owner));
    return records.map(({ filename }) => filename);
  }

  protected override async remove(owner: ArtifactOwner, filename?: string): Promise<number> {
    const folder = this.#pathOfOwner(owner);
    const names = filename === undefined ? await list(folder) : [part(filename)];
    let count = 0;
    for (const name of names) {
      // The latest version is deleted first: an interrupted deletion leaves old versions, not a gap before
      // new versions.
      const versions = (await versionsIn(join(folder, name))).reverse();
      if (versions.length > 0) count += 1;
      for (const version of versions) await this.#removeVersion(join(folder, name, String(version)));
      await removeEmpty(join(folder, name));
    }
    for (const at of [folder, join(folder, '..'), join(folder, '../..')]) await removeEmpty(at);
    return count;
  }

  protected override async *owners({ appName, userId }: User): AsyncGenerator<ArtifactOwner> {
    const folder = join(this.#root, part(appName), part(userId));
    for (const name of await list(folder)) {
      const [record] = await recordsOf(join(folder, name), 1);
      if (record) yield ownerOf(record);
    }
  }

  /** One rename hides the version. A reader that has it open continues to read. */
  async #removeVersion(path: string): Promise<void> {
    await mkdir(this.#unfinished, { recursive: true });
    const trash = join(this.#unfinished, randomUUID());
    await unlessMissing(rename(path, trash));
    await rm(trash, { recursive: true, force: true });
  }

  async #read(file: OwnedFile, version: number): Promise<StoredVersion | undefined> {
    const folder = join(this.#pathOf(file), String(version));
    const record = await readRecord(join(folder, 'record.json'));
    if (!record) return undefined;
    const { size, createTime, about } = record;
    const canonicalUri = pathToFileURL(join(folder, 'content')).href;
    return { version, canonicalUri, size, createTime, about };
  }

  #pathOf({ owner, filename }: OwnedFile): string {
    return join(this.#pathOfOwner(owner), part(filename));
  }

  #pathOfOwner({ appName, userId, sessionId }: ArtifactOwner): string {
    const last = sessionId === undefined ? 'user' : `session-${part(sessionId)}`;
    return join(this.#root, part(appName), part(userId), last);
  }
}

/** Returns the latest record of each file of an owner. */
async function recordsOf(folder: string, limit = Number.POSITIVE_INFINITY): Promise<FileRecord[]> {
  const records: FileRecord[] = [];
  for (const name of await list(folder)) {
    const latest = (await versionsIn(join(folder, name))).at(-1);
    const record =
      latest === undefined ? undefined : await readRecord(join(folder, name, String(latest), 'record.json'));
    if (record) records.push(record);
    if (records.length >= limit) break;
  }
  return records;
}

async function readRecord(path: string): Promise<FileRecord | undefined> {
  const text = await unlessMissing(readFile(path, 'utf8'));
  return text === undefined ? undefined : parse(recordSchema, JSON.parse(text), 'the record of an artifact');
}

function ownerOf({ owner: { appName, userId, sessionId } }: FileRecord): ArtifactOwner {
  return { appName, userId, ...(sessionId !== undefined && { sessionId }) };
}

import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, rmdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';
import { MeshError, parse } from '@agentmesh/protocol';
import { z } from 'zod';
import {
  type ArtifactOwner,
  BaseArtifactService,
  type OwnedFile,
  type StoredVersion,
} from './base-artifact-service.ts';
import { type ArtifactAbout, artifactAboutSchema } from './stored-part.ts';

const recordSchema = z.object({
  owner: z.object({ appName: z.string(), userId: z.string(), sessionId: z.string().optional() }),
  filename: z.string(),
  size: z.number(),
  createTime: z.number(),
  about: artifactAboutSchema,
});
type FileRecord = z.infer<typeof recordSchema>;
type User = Pick<ArtifactOwner, 'appName' | 'userId'>;

/** What was begun so long ago is no longer being written, in ms. */
const abandonedMs = 86_400_000;
const triesAtVersion = 1_000;

/**
 * Files in a folder, which any number of processes may share:
 * `<app>/<user>/<owner>/<name>/<version>/{content,record.json}`. A version is written beside its place and takes it by one rename, so that it is there as a
 * whole or not at all and no two have the same number. Names are never paths: each becomes a few plain letters and its hash.
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
    const begun = join(this.#unfinished, randomUUID());
    await mkdir(begun, { recursive: true });
    try {
      const content = join(begun, 'content');
      await pipeline(Readable.fromWeb(bytes), createWriteStream(content, { flags: 'wx' }));
      const record: FileRecord = {
        owner: file.owner,
        filename: file.filename,
        size: (await stat(content)).size,
        createTime: Date.now(),
        about,
      };
      await writeThrough(join(begun, 'record.json'), JSON.stringify(record), content);
      return await takeVersion(begun, this.#pathOf(file));
    } catch (error) {
      await rm(begun, { recursive: true, force: true });
      throw error;
    }
  }

  protected override async open(file: OwnedFile, wanted: number | undefined) {
    const version = wanted ?? (await versionsIn(this.#pathOf(file))).at(-1);
    const stored = version === undefined ? undefined : await this.#read(file, version);
    if (!stored) return undefined;
    // Opened before it is returned: what is deleted now is still read to its end.
    const handle = await unlessMissing(open(join(this.#pathOf(file), String(version), 'content')));
    if (!handle) return undefined;
    const bytes = Readable.toWeb(createReadStream('', { fd: handle })) as ReadableStream<Uint8Array>;
    return { ...stored, bytes };
  }

  protected override async versions(file: OwnedFile): Promise<StoredVersion[]> {
    const found = (await versionsIn(this.#pathOf(file))).map((version) => this.#read(file, version));
    return (await Promise.all(found)).filter((stored) => stored !== undefined);
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
      // The latest first: what is left of a deletion that was cut short are old versions, and not a gap before new ones.
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

  /** Out of sight by one rename; a reader that has it open reads on. */
  async #removeVersion(path: string): Promise<void> {
    await mkdir(this.#unfinished, { recursive: true });
    const gone = join(this.#unfinished, randomUUID());
    await unlessMissing(rename(path, gone));
    await rm(gone, { recursive: true, force: true });
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

/** A name as part of a path: its plain letters for people, its hash to tell it from all others, on disks too that ignore case. */
function part(name: string): string {
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 32);
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 32);
  return `${plain}.${hash}`;
}

/** Takes the next number that is free: a folder is never renamed onto one that holds something. */
async function takeVersion(begun: string, folder: string): Promise<number> {
  for (let tries = 0; tries < triesAtVersion; tries += 1) {
    await mkdir(folder, { recursive: true });
    const version = ((await versionsIn(folder)).at(-1) ?? -1) + 1;
    try {
      await rename(begun, join(folder, String(version)));
      await syncFolder(folder);
      return version;
    } catch (error) {
      // Taken meanwhile; or the folder was empty, and a deletion has removed it.
      if (!hasCode(error, 'ENOTEMPTY', 'EEXIST', 'ENOENT')) throw error;
    }
  }
  throw new MeshError('unavailable', `no version could be had in ${triesAtVersion} tries; try again`);
}

/** The record is written when the content is on the disk, and is on the disk itself when this resolves. */
async function writeThrough(path: string, text: string, content: string): Promise<void> {
  const bytes = await open(content, 'r+');
  await bytes.sync();
  await bytes.close();
  const handle = await open(path, 'wx');
  await handle.writeFile(text);
  await handle.sync();
  await handle.close();
}

/** A rename outlives a loss of power when its folder was written; not every system lets one do that. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder).catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}

async function versionsIn(folder: string): Promise<number[]> {
  const names = (await list(folder)).filter((name) => /^\d+$/.test(name));
  return names.map(Number).sort((a, b) => a - b);
}

/** The latest record of each file of an owner. */
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

async function list(folder: string): Promise<string[]> {
  return (await unlessMissing(readdir(folder))) ?? [];
}

async function removeEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch((error) => {
    if (!hasCode(error, 'ENOTEMPTY', 'EEXIST', 'ENOENT')) throw error;
  });
}

/** Removes what processes began that died since. */
async function sweep(folder: string): Promise<void> {
  for (const name of await list(folder)) {
    const path = join(folder, name);
    const found = await unlessMissing(stat(path));
    if (found && found.mtimeMs < Date.now() - abandonedMs) await rm(path, { recursive: true, force: true });
  }
}

async function unlessMissing<T>(doing: Promise<T>): Promise<T | undefined> {
  try {
    return await doing;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

import { createWriteStream } from 'node:fs';
import { type FileHandle, mkdir, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { exportUserData, type Mesh, type UserRecord } from '@agentmesh/mesh';
import { encodeToken, MeshError } from '@agentmesh/protocol';
import { makeFolder } from '../local/make-folder.ts';

type Of<K extends UserRecord['kind']> = Extract<UserRecord, { kind: K }>;

/** Number of characters that are written at once. */
const bufferSize = 64 * 1024;

/**
 * Writes all data of a user into a folder: `records.jsonl` with an object a line, `sessions` with a file for
 * each session, in the form that `POST …/sessions` takes, and `files` with the bytes of artifacts. Only the
 * owner of the folder may read them. Returns how many records of each kind there were.
 *
 * @throws MeshError `failed_precondition` for a folder that is not empty
 */
export async function writeExport(
  mesh: Mesh,
  user: { appName: string; userId: string },
  folder: string,
): Promise<Record<string, number>> {
  await makeFolder(folder, 0o700);
  if ((await readdir(folder)).length > 0) {
    throw new MeshError('failed_precondition', `${folder} is not empty; name a new folder`);
  }
  for (const name of ['sessions', 'files']) await mkdir(join(folder, name), { mode: 0o700 });
  await using records = new TextFile(await openNew(join(folder, 'records.jsonl')));
  await using sessions = new SessionFiles(folder);
  let files = 0;
  for await (const record of exportUserData(mesh, user)) {
    if (record.kind === 'event') {
      await sessions.add(record);
      continue;
    }
    await sessions.end();
    let line: object = record;
    if (record.kind === 'session') line = { ...record, file: await sessions.begin(record) };
    if (record.kind === 'artifact') {
      files += 1;
      line = await writeArtifact(folder, record, files);
    }
    await records.write(`${JSON.stringify(line)}\n`);
    if (record.kind === 'end') return record.counts;
  }
  throw new MeshError('internal', 'the export has no end; try again');
}

async function writeArtifact(folder: string, { open: content, ...about }: Of<'artifact'>, number: number) {
  if (about.fileUri !== undefined) return about;
  const stream = await content();
  if (!stream) return about;
  // Users choose the name of a file, so nothing of it may act as a path.
  const name = (about.filename.split(/[/\\:]/).at(-1) ?? '').replace(/[^\w.-]/g, '_').replace(/^\.+/, '');
  const file = `files/${String(number).padStart(6, '0')}-v${about.version}-${name.slice(-80)}`;
  await pipeline(
    Readable.fromWeb(stream),
    createWriteStream(join(folder, file), { flags: 'wx', mode: 0o600 }),
  );
  return { ...about, file };
}

/** Writes sessions in the form that `POST …/sessions` takes: the initial state, and the events in order. */
class SessionFiles implements AsyncDisposable {
  readonly #folder: string;
  #file: TextFile | undefined;
  #count = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async begin({ sessionId, firstSeq, state, initialState }: Of<'session'>): Promise<string> {
    const file = `sessions/${encodeToken(sessionId)}.json`;
    this.#file = new TextFile(await openNew(join(this.#folder, file)));
    this.#count = 0;
    // If the first events are not kept, the present state contains their changes.
    const head = JSON.stringify({ sessionId, state: firstSeq > 1 ? state : initialState });
    await this.#file.write(`${head.slice(0, -1)},"events":[`);
    return file;
  }

  async add({ event }: Of<'event'>): Promise<void> {
    await this.#file?.write(`${this.#count === 0 ? '' : ','}\n${JSON.stringify(event)}`);
    this.#count += 1;
  }

  async end(): Promise<void> {
    await this.#file?.write(']}\n');
    await this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file?.[Symbol.asyncDispose]();
    this.#file = undefined;
  }
}

/** A text file that is written in pieces of `bufferSize`. */
class TextFile implements AsyncDisposable {
  readonly #handle: FileHandle;
  #text = '';

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  async write(text: string): Promise<void> {
    this.#text += text;
    if (this.#text.length >= bufferSize) await this.#flush();
  }

  async #flush(): Promise<void> {
    const text = this.#text;
    this.#text = '';
    await this.#handle.appendFile(text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#flush();
    await this.#handle.close();
  }
}

async function openNew(path: string): Promise<FileHandle> {
  return await open(path, 'wx', 0o600);
}

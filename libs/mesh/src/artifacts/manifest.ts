import { setTimeout as delay } from 'node:timers/promises';
import type { ArtifactOwner } from '@agentmesh/agent/internal';
import type { RecordBucket } from '@agentmesh/bus';
import { encodeToken, MeshError, parse } from '@agentmesh/protocol';
import { z } from 'zod';

const manifestSchema = z.object({
  owner: z.object({ appName: z.string(), userId: z.string(), sessionId: z.string().optional() }),
  /** Names with the objects of their versions, in order: the index is the version. Pairs, as a name may be one that objects have of themselves. */
  files: z.array(z.tuple([z.string(), z.array(z.string())])),
  /** Objects whose versions are deleted, and which are to be deleted. */
  gone: z.array(z.string()).default([]),
});

/** All files of one owner: the one record upon which versions are claimed, and listed without a look at what others have. */
export type Manifest = z.infer<typeof manifestSchema>;

/** The broker's usual limit on a message, with some room for its head: about 28,000 versions. */
const maxManifestBytes = 1024 * 1024 - 4096;
const tries = 200;
const longestPauseMs = 50;

/** The record's key: of a user one token fewer than of a session, so that no name of a session is the user's. */
export function manifestKey({ appName, userId, sessionId }: ArtifactOwner): string {
  const user = [encodeToken(appName), encodeToken(userId)];
  return [...user, ...(sessionId === undefined ? ['user'] : ['session', encodeToken(sessionId)])].join('.');
}

export async function readManifest(
  records: RecordBucket,
  key: string,
): Promise<{ manifest: Manifest | undefined; revision: number }> {
  const { value, revision } = await records.read(key);
  if (!value) return { manifest: undefined, revision };
  const text = Buffer.from(value).toString();
  return { manifest: parse(manifestSchema, JSON.parse(text), 'the list of artifacts'), revision };
}

/**
 * Changes a manifest upon what it is now, as often as somebody else is faster. `change` gets one of its own and returns what comes of it; it is done
 * again each time, and must find out by itself when a write before was stored though nobody said so. An empty manifest is removed.
 *
 * @throws MeshError `resource_exhausted` when it gets too long, `unavailable` when others are always faster
 */
export async function changeManifest<T>(
  records: RecordBucket,
  owner: ArtifactOwner,
  change: (manifest: Manifest) => T,
): Promise<T> {
  const key = manifestKey(owner);
  for (let attempt = 0; attempt < tries; attempt += 1) {
    const { manifest = { owner, files: [], gone: [] }, revision } = await readManifest(records, key);
    const before = JSON.stringify(manifest);
    const result = change(manifest);
    const after = JSON.stringify(manifest);
    if (after === before) return result;
    const isEmpty = manifest.files.length === 0 && manifest.gone.length === 0;
    const written = isEmpty
      ? await records.remove(key, revision)
      : await records.write(key, checked(after), revision);
    if (written) return result;
    // Not together with those who lost too.
    const pauseMs = Math.random() * Math.min(2 ** attempt, longestPauseMs);
    await delay(pauseMs);
  }
  throw new MeshError('unavailable', 'too many save artifacts here at once; try again');
}

function checked(text: string): Uint8Array {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxManifestBytes) return bytes;
  throw new MeshError(
    'resource_exhausted',
    'there are too many artifacts here; delete some, or keep them in another session',
  );
}

/** The objects of a file's versions. */
export function versionsIn(manifest: Manifest | undefined, filename: string): string[] {
  return manifest?.files.find(([name]) => name === filename)?.[1] ?? [];
}

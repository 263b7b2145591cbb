import type { ArtifactVersion, PendingCall, StoredMemory, UserArtifact } from '@agentmesh/agent';
import type { KeptCredential, KeptSession, StoredEvent, UserOwner } from '@agentmesh/agent/internal';
import { meshTime, type SessionRef } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';

/** One version of a file, and access to its bytes. */
export interface ExportedArtifact extends UserArtifact, ArtifactVersion {
  /** The address of the file if it lies elsewhere; then there are no bytes. */
  fileUri?: string;
  /**
   * Opens the bytes as a stream; undefined when the file was deleted meanwhile. Read the stream to its end or
   * cancel it.
   */
  open(): Promise<ReadableStream<Uint8Array> | undefined>;
}

/** One piece of a user's data. An export without an `end` record is incomplete. */
export type UserRecord =
  | { kind: 'user'; format: 1; appName: string; userId: string /** Epoch ms. */; exportedAt: number }
  | { kind: 'state'; state: Record<string, unknown> }
  /** `firstSeq`: number of the first event that is kept. Its events follow. */
  | ({ kind: 'session'; firstSeq: number } & KeptSession)
  | ({ kind: 'event'; sessionId: string } & StoredEvent)
  | { kind: 'pending'; call: PendingCall }
  | { kind: 'memory'; memory: StoredMemory }
  | ({ kind: 'artifact' } & ExportedArtifact)
  | ({ kind: 'credential' } & KeptCredential)
  | { kind: 'end'; counts: Record<string, number> };

const eventsAtOnce = 100;
const memoriesAtOnce = 100;

/**
 * Yields all data of a user in an app, in pages, so that little of it is in memory at once. Credentials come
 * as descriptions, without secrets. Data that changes meanwhile may come in the old or the new state.
 *
 * @throws MeshError `unavailable` while a store cannot be reached
 */
export async function* exportUserData(
  mesh: Mesh,
  { appName, userId }: UserOwner,
): AsyncGenerator<UserRecord, void, void> {
  const user = { appName, userId };
  const counts: Record<string, number> = {};
  for await (const record of recordsOf(mesh, user)) {
    counts[record.kind] = (counts[record.kind] ?? 0) + 1;
    yield record;
  }
  yield { kind: 'end', counts };
}

async function* recordsOf(mesh: Mesh, user: UserOwner): AsyncGenerator<UserRecord, void, void> {
  const { sessions, credentialRecords } = mesh;
  yield { kind: 'user', format: 1, ...user, exportedAt: meshTime() };
  yield { kind: 'state', state: await sessions.users.readState(user) };
  for (const sessionId of await sessions.users.sessionIds(user))
    yield* sessionRecords(mesh, { ...user, sessionId });
  for (const call of await sessions.pending.list(user)) yield { kind: 'pending', call };
  yield* memoryRecords(mesh, user);
  yield* artifactRecords(mesh, user);
  for (const credential of (await credentialRecords?.listCredentials(user)) ?? [])
    yield { kind: 'credential', ...credential };
}

async function* sessionRecords({ sessions }: Mesh, ref: SessionRef): AsyncGenerator<UserRecord, void, void> {
  const session = await sessions.users.readSession(ref);
  if (!session) return;
  let page = await sessions.log.readEvents({ ...ref, limit: eventsAtOnce });
  yield { kind: 'session', ...session, firstSeq: page[0]?.seq ?? 1 };
  for (let last = page.at(-1); last; last = page.at(-1)) {
    for (const { seq, event } of page) yield { kind: 'event', sessionId: ref.sessionId, seq, event };
    page = await sessions.log.readEvents({ ...ref, afterSeq: last.seq, limit: eventsAtOnce });
  }
}

async function* memoryRecords({ memory }: Mesh, user: UserOwner): AsyncGenerator<UserRecord, void, void> {
  for (let after: string | undefined; ; ) {
    const page = await memory?.listMemories({
      ...user,
      limit: memoriesAtOnce,
      ...(after !== undefined && { after }),
    });
    for (const each of page?.memories ?? []) yield { kind: 'memory', memory: each };
    after = page?.next;
    if (after === undefined) return;
  }
}

async function* artifactRecords(
  { artifacts }: Mesh,
  user: UserOwner,
): AsyncGenerator<UserRecord, void, void> {
  for await (const file of artifacts.listUserArtifacts(user)) {
    // Artifacts of the user can be read under any session id.
    const ref = { ...user, sessionId: file.sessionId ?? '-', filename: file.filename };
    for (const about of await artifacts.listArtifactVersions(ref)) {
      const { version } = about;
      const part = about.size === 0 ? await artifacts.loadArtifact({ ...ref, version }) : undefined;
      const fileUri = part?.fileData?.fileUri;
      const open = async () => (await artifacts.loadArtifactStream({ ...ref, version }))?.stream;
      yield { kind: 'artifact', ...file, ...about, ...(fileUri !== undefined && { fileUri }), open };
    }
  }
}

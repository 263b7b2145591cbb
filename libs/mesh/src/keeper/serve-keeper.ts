import type { ArtifactRef } from '@agentmesh/agent';
import { fileOf } from '@agentmesh/agent/internal';
import type { IncomingRequest, Started } from '@agentmesh/bus';
import {
  every,
  type Frame,
  type KeeperAnswer,
  type KeeperRequest,
  type KeyWrapper,
  keeperRequestSchema,
  MeshError,
  parse,
  readKeeperSubject,
} from '@agentmesh/protocol';
import { MeshArtifactService } from '../artifacts/mesh-artifact-service.ts';
import { type Upload, Uploads } from '../artifacts/uploads.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { keeperService } from '../mesh/service-name.ts';
import { hasWork } from './has-work.ts';
import { serveSecrets } from './serve-secrets.ts';
import { UserSecrets } from './user-secrets.ts';

/** Number of requests that a keeper answers at once: each holds a piece of a file. Further ones try again. */
const maxConcurrency = 16;

/** The master key of the credentials; without one a keeper refuses all requests for credentials. */
export interface KeeperOptions {
  /** Keys of `CREDENTIAL_KEYS`. They are the master key, and open what was sealed without a keeper. */
  credentialKeys?: string | undefined;
  /** The master key in a key management service, in the place of `credentialKeys`. */
  keyWrapper?: KeyWrapper | undefined;
}

interface Keeper {
  mesh: Pick<Mesh, 'sessions' | 'log'>;
  files: MeshArtifactService;
  uploads: Uploads;
}

/**
 * Reads and writes files for agents and tools, each for the sessions for which it works now and their users. The
 * asking service is the last token of the subject, which the links of the accounts give to this service alone. A
 * keeper keeps nothing between two requests; any number of them may run. It also opens and seals secrets, see
 * {@link serveSecrets}.
 *
 * @throws MeshError `invalid_argument` for wrong keys
 */
export async function serveKeeper(mesh: Mesh, options: KeeperOptions = {}): Promise<Started> {
  const { bus, subjects } = mesh;
  const { artifactBucket } = subjects;
  const subject = subjects.keeper(every);
  const keeper = {
    mesh,
    files: new MeshArtifactService(bus, artifactBucket),
    uploads: new Uploads(bus, artifactBucket),
  };
  const serving = await bus.serve(subject, (request) => handle(keeper, request), { maxConcurrency });
  const servingSecrets = await serveSecrets(mesh, secretsFor(mesh, options));
  const name = subjects.shownAs(keeperService);
  const registration = await bus.register(
    { kind: 'keeper', name, version: '0.1.0', description: 'keeps files and credentials' },
    [subject, subjects.secret(every, every)],
  );
  return {
    async stop(options) {
      await registration.stop(options);
      await Promise.all([serving.stop(options), servingSecrets.stop(options)]);
    },
  };
}

/** Returns the function that gives the secrets, or throws the error for a keeper without a key. */
function secretsFor({ dataKeys }: Mesh, options: KeeperOptions): () => UserSecrets {
  const hasKey = (options.keyWrapper ?? options.credentialKeys) !== undefined;
  if (!hasKey || !dataKeys) {
    return () => {
      throw new MeshError('failed_precondition', noKey);
    };
  }
  const secrets = new UserSecrets({ ...options, dataKeys });
  return () => secrets;
}

const noKey =
  'this keeper has no key for credentials: set CREDENTIAL_KEYS, the same for all keepers, or give it a keyWrapper';

async function* handle(keeper: Keeper, message: IncomingRequest): AsyncGenerator<Frame, void, void> {
  const service = readKeeperSubject(message.subject);
  const request = parse(keeperRequestSchema, message.json(), `the request of ${service} for files`);
  const isAtWork = await hasWork(keeper.mesh.sessions, service, refOf(request));
  const data = isUpload(request)
    ? await store(keeper, service, request, isAtWork)
    : isAtWork && (await answer(keeper, request));
  if (!data) throw noWork(keeper, service, request);
  yield { type: 'result', data };
}

type UploadRequest = Extract<KeeperRequest, { do: 'write' | 'save' }>;

function isUpload(request: KeeperRequest): request is UploadRequest {
  return request.do === 'write' || request.do === 'save';
}

/**
 * Stores a part of an upload. Returns undefined when the upload may not go on, because the work of the service or the
 * session is over; then removes what the upload has stored. Nobody else would: the deletion of a session or a user
 * finds no upload that is under way. A version that an earlier request has stored stays.
 */
async function store(
  { mesh, uploads }: Keeper,
  service: string,
  request: UploadRequest,
  isAtWork: boolean,
): Promise<KeeperAnswer<'write' | 'save'> | undefined> {
  const upload = {
    service,
    file: fileOf({ ...refOf(request), filename: request.filename }),
    upload: request.upload,
  };
  const stored = isAtWork ? await storePart(uploads, upload, request) : undefined;
  // The session may have been deleted while the request was at work.
  if (stored && (await mesh.sessions.users.hasSession(refOf(request)))) return stored.answer;
  if (stored?.isNewVersion) await uploads.withdraw(upload);
  else await uploads.discard(upload);
  return undefined;
}

async function storePart(
  uploads: Uploads,
  upload: Upload,
  request: UploadRequest,
): Promise<{ answer: KeeperAnswer<'write' | 'save'>; isNewVersion: boolean }> {
  if (request.do === 'write') {
    const bytes = Buffer.from(request.bytes, 'base64');
    const place = await uploads.write(upload, request.index, bytes);
    return { answer: { place }, isNewVersion: false };
  }
  const { version, isNew } = await uploads.save(upload, request.pieces, request.about);
  return { answer: { version }, isNewVersion: isNew };
}

function noWork(
  { mesh: { log } }: Keeper,
  service: string,
  { app, user, session, do: verb }: KeeperRequest,
): MeshError {
  log.warn({ audit: true, service, verb, app, user, session }, 'refused files: no work in hand');
  return new MeshError(
    'permission_denied',
    `${service} has no work for session ${session} of user ${user} in app ${app} now; files are for the run or the call that it works on, until its end`,
  );
}

async function answer(
  { files, uploads }: Keeper,
  request: Exclude<KeeperRequest, UploadRequest>,
): Promise<KeeperAnswer<KeeperRequest['do']>> {
  if (request.do === 'names') return { names: await files.listArtifactKeys(refOf(request)) };
  const ref = { ...refOf(request), filename: request.filename };
  switch (request.do) {
    case 'versions':
      return { versions: await files.storedVersions(ref) };
    case 'delete':
      await files.deleteArtifact(ref);
      return {};
    case 'find':
      return found(uploads, ref, request.version);
    case 'read':
      return await read(uploads, ref, request);
  }
}

async function found(uploads: Uploads, ref: ArtifactRef, version: number | undefined) {
  const file = await uploads.find(fileOf(ref), version);
  return file ? { found: file } : {};
}

/** Returns no bytes when the version was deleted. */
async function read(
  uploads: Uploads,
  ref: ArtifactRef,
  { version, from }: Extract<KeeperRequest, { do: 'read' }>,
): Promise<KeeperAnswer<'read'>> {
  const piece = await uploads.read(fileOf(ref), version, from);
  if (!piece) return { bytes: '', next: from };
  const { buffer, byteOffset, length } = piece.bytes;
  return { bytes: Buffer.from(buffer, byteOffset, length).toString('base64'), next: piece.next };
}

function refOf({ app, user, session }: KeeperRequest) {
  return { appName: app, userId: user, sessionId: session };
}

import { Readable } from 'node:stream';
import { isMimeType } from '@agentmesh/agent/internal';
import { MeshError } from '@agentmesh/protocol';
import type { GatewayContext } from '../../context/context.ts';
import type { Handler } from '../../context/route.ts';
import { found, readArtifactRef, readVersionRef } from '../../params/artifact-ref.ts';
import { saveToSession } from './save-to-session.ts';

/** Answers with a file's bytes, as a stream from their store. */
export const downloadArtifact: Handler = async (context, request, reply) => {
  const ref = await readVersionRef(context, request);
  const artifact = found(await context.mesh.artifacts.loadArtifactStream(ref), ref);
  const { mimeType, size, version, stream } = artifact;
  if (size === 0) await assertHasBytes(context, { ...ref, version });
  reply.headers({
    'content-type': isMimeType(mimeType) ? mimeType : 'application/octet-stream',
    'content-length': size,
    'artifact-version': version,
    // A browser must not show the file as a page of this address, whoever made it.
    'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(ref.filename)}`,
    'x-content-type-options': 'nosniff',
    'content-security-policy': 'sandbox',
  });
  return reply.send(Readable.fromWeb(stream));
};

/** Refuses a file that only names its bytes at another place. @throws MeshError `failed_precondition` */
async function assertHasBytes(
  { mesh }: GatewayContext,
  ref: Awaited<ReturnType<typeof readVersionRef>>,
): Promise<void> {
  const fileUri = (await mesh.artifacts.loadArtifact(ref))?.fileData?.fileUri;
  if (fileUri === undefined) return;
  throw new MeshError(
    'failed_precondition',
    `artifact ${ref.filename} has no bytes here: it names the file ${fileUri}; get the name as JSON from …/artifacts/${ref.filename}`,
  );
}

/** Headers that ask for another thing than a new version of the whole body. */
const refusedHeaders = ['content-range', 'if-match', 'if-none-match'] as const;

/** Saves the body, as a stream, as a new version. */
export const uploadArtifact: Handler = async (context, request) => {
  const refused = refusedHeaders.find((name) => request.headers[name] !== undefined);
  if (refused !== undefined)
    throw new MeshError(
      'invalid_argument',
      `an upload takes no header ${refused}: it stores the whole body as the next version; leave the header out`,
    );
  const { mesh, config } = context;
  const ref = await readArtifactRef(context, request);
  const mimeType = request.headers['content-type'];
  const version = await saveToSession(context, ref, async (assertStays) => {
    const stream = limited(bytesOf(request.body), config.uploadLimit, assertStays);
    return await mesh.artifacts.saveArtifactStream({ ...ref, stream, mimeType });
  });
  return found(await mesh.artifacts.getArtifactVersion({ ...ref, version }), { ...ref, version });
};

/** Returns the bytes of the body. A request without a body uploads an empty file. */
function bytesOf(body: unknown): AsyncIterable<Uint8Array> {
  // The connection is needed for the answer, and for further requests.
  return body instanceof Readable ? body.iterator({ destroyOnReturn: false }) : Readable.from([]);
}

/** Passes the bytes of a body on. @throws MeshError `cancelled` when its client leaves before its end */
async function* untilAborted(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  try {
    yield* bytes;
  } catch (cause) {
    throw new MeshError('cancelled', 'the client has left before the end of the body', { cause });
  }
}

/** Passes bytes on, up to a limit. The stream fails when `onEnd` does. */
function limited(
  bytes: AsyncIterable<Uint8Array>,
  limit: number,
  onEnd: () => Promise<void>,
): ReadableStream<Uint8Array> {
  let size = 0;
  async function* pass() {
    for await (const chunk of untilAborted(bytes)) {
      size += chunk.length;
      if (size > limit) {
        throw new MeshError(
          'invalid_argument',
          `the file is over ${limit} bytes, which is the most that this gateway takes (MESH_UPLOAD_LIMIT)`,
        );
      }
      yield chunk;
    }
    await onEnd();
  }
  return ReadableStream.from(pass());
}

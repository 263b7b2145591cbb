import { Readable } from 'node:stream';
import { isMimeType } from '@agentmesh/agent/internal';
import { MeshError } from '@agentmesh/protocol';
import type { Handler } from '../../context/route.ts';
import { found, readArtifactRef, readOwner, readVersionRef } from '../../params/artifact-ref.ts';

/** Answers with a file's bytes, as a stream from their store. */
export const downloadArtifact: Handler = async (context, request, reply) => {
  const ref = await readVersionRef(context, request);
  const artifact = found(await context.mesh.artifacts.loadArtifactStream(ref), ref);
  const { mimeType, size, version, stream } = artifact;
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

/** Saves the body, as a stream, as a new version. */
export const uploadArtifact: Handler = async (context, request) => {
  const { mesh, config } = context;
  const ref = await readOwner(context, await readArtifactRef(context, request));
  const mimeType = request.headers['content-type'];
  const stream = limited(bytesOf(request.body), config.uploadLimit);
  const version = await mesh.artifacts.saveArtifactStream({ ...ref, stream, mimeType });
  return found(await mesh.artifacts.getArtifactVersion({ ...ref, version }), { ...ref, version });
};

/** Returns the bytes of the body. A request without a body uploads an empty file. */
function bytesOf(body: unknown): AsyncIterable<Uint8Array> {
  return body instanceof Readable ? body : Readable.from([]);
}

function limited(bytes: AsyncIterable<Uint8Array>, limit: number): ReadableStream<Uint8Array> {
  let size = 0;
  async function* pass() {
    for await (const chunk of bytes) {
      size += chunk.length;
      if (size > limit) {
        throw new MeshError(
          'invalid_argument',
          `the file is over ${limit} bytes, which is the most that this gateway takes (MESH_UPLOAD_LIMIT)`,
        );
      }
      yield chunk;
    }
  }
  return ReadableStream.from(pass());
}

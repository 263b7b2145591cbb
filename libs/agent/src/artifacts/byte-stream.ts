import { MeshError } from '@agentmesh/protocol';

/** Makes a stream of bytes in memory. */
export function streamOf(...chunks: Uint8Array[]): ReadableStream<Uint8Array> {
  const waiting = chunks.values();
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const { value, done } = waiting.next();
      if (done) controller.close();
      else if (value.length > 0) controller.enqueue(value);
      else this.pull?.(controller);
    },
  });
}

/**
 * Reads all bytes of a stream.
 *
 * @throws MeshError `internal` when the number of bytes is not the expected number
 */
export async function bytesOf(stream: ReadableStream<Uint8Array>, size: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(size);
  let at = 0;
  for await (const chunk of stream) {
    if (at + chunk.length > size) throw wrongSize(size);
    bytes.set(chunk, at);
    at += chunk.length;
  }
  if (at !== size) throw wrongSize(size);
  return bytes;
}

function wrongSize(size: number): MeshError {
  return new MeshError('internal', `a stored file does not have the ${size} bytes that it was saved with`);
}

import { createHash } from 'node:crypto';
import type { ArtifactService } from '../../artifacts/artifact-service.ts';

/** Wraps a test that needs a service of its own. */
export type WithService = (run: (service: ArtifactService) => Promise<void>) => () => Promise<void>;

export const place = { appName: 'app', userId: 'u', sessionId: 's' };

/** Makes bytes that do not repeat; the same seed makes the same bytes. */
export function bytesIn(size: number, seed = 1): Buffer {
  const bytes = Buffer.alloc(size);
  let state = seed;
  for (let at = 0; at < size; at += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[at] = state >>> 24;
  }
  return bytes;
}

export function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Makes a stream that yields each chunk on demand, and throws an error among them. */
export function streamIn(chunks: Iterable<Uint8Array | Error>): ReadableStream<Uint8Array> {
  const each = chunks[Symbol.iterator]();
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const { value, done } = each.next();
        if (done) controller.close();
        else if (value instanceof Error) controller.error(value);
        else controller.enqueue(value);
      },
    },
    { highWaterMark: 0 },
  );
}

export async function readAll(stream: ReadableStream<Uint8Array> | undefined): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(stream ?? []));
}

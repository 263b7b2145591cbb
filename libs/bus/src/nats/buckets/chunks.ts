/** Yields the same bytes in pieces of one length; the last may be shorter. Each piece has its own memory. */
export async function* chunksOf(
  bytes: AsyncIterable<Uint8Array>,
  length: number,
): AsyncGenerator<Uint8Array, void, void> {
  let piece = new Uint8Array(length);
  let filled = 0;
  for await (const next of bytes) {
    for (let at = 0; at < next.length; ) {
      const part = next.subarray(at, at + length - filled);
      piece.set(part, filled);
      filled += part.length;
      at += part.length;
      if (filled < length) continue;
      yield piece;
      piece = new Uint8Array(length);
      filled = 0;
    }
  }
  if (filled > 0) yield piece.subarray(0, filled);
}

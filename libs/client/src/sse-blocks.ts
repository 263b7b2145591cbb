/** A block of server-sent events (WHATWG HTML, "Server-sent events"). */
export interface SseBlock {
  /** The lines of data, joined; undefined for a block without data. */
  data?: string;
  id?: string;
}

/**
 * Yields the blocks of an answer. The end of the caller's loop closes the connection.
 *
 * @param silenceMs the time without a byte after which the connection counts as lost; gateways send a comment
 * every 15 s
 * @throws Error for a lost connection
 */
export async function* sseBlocks(
  body: ReadableStream<Uint8Array>,
  silenceMs: number,
): AsyncGenerator<SseBlock, void, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let block: SseBlock = {};
  try {
    for (;;) {
      const { done, value } = await readWithin(reader, silenceMs);
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      // A carriage return at the end may be the first half of a line break.
      const lines = rest.slice(0, rest.endsWith('\r') ? -1 : undefined).split(/\r\n|\r|\n/);
      rest = (lines.pop() ?? '') + (rest.endsWith('\r') ? '\r' : '');
      for (const line of lines) {
        if (line !== '') {
          addLine(block, line);
          continue;
        }
        if (block.data !== undefined || block.id !== undefined) yield block;
        block = {};
      }
    }
  } finally {
    // Without an answer: a connection that is lost gives none.
    reader.cancel().catch(() => {});
  }
}

function addLine(block: SseBlock, line: string): void {
  const at = line.indexOf(':');
  const name = at < 0 ? line : line.slice(0, at);
  const value = at < 0 ? '' : line.slice(at + 1).replace(/^ /, '');
  if (name === 'data') block.data = block.data === undefined ? value : `${block.data}\n${value}`;
  if (name === 'id') block.id = value;
}

async function readWithin(reader: ReadableStreamDefaultReader<Uint8Array>, ms: number) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing came for ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([reader.read(), silence]);
  } finally {
    clearTimeout(timer);
  }
}

import type { Event } from '@agentmesh/protocol';

/** A frame of a gateway's stream: an event, or an error. */
export interface Frame {
  /** The number of a committed event in its session; absent for a streamed piece and for an error. */
  id: number | undefined;
  event: Event & { error?: string; code?: string };
}

/** Yields the frames of an answer. The end of the caller's loop closes the connection. */
export async function* framesOf(response: Response): AsyncGenerator<Frame, void, void> {
  if (response.status === 204) return;
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  yield* framesIn(response.body ?? []);
}

/** Yields the frames of the bytes of a stream. */
export async function* framesIn(
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Frame, void, void> {
  let waiting: Frame | undefined;
  for await (const block of blocksOf(bytes)) {
    const fields = new Map(block.split('\n').map((line) => fieldOf(line)));
    const data = fields.get('data');
    const id = fields.get('id');
    if (waiting && data === undefined && id !== undefined) waiting.id = Number(id);
    if (waiting) yield waiting;
    waiting = undefined;
    if (data === undefined) continue;
    const frame: Frame = { id: id === undefined ? undefined : Number(id), event: JSON.parse(data) };
    // In the answer of `/run_sse`, the id of a committed event follows in a separate block.
    const isCommitted = !frame.event.partial && frame.event.error === undefined;
    if (isCommitted && id === undefined) waiting = frame;
    else yield frame;
  }
  if (waiting) yield waiting;
}

/** Yields the blocks of a stream of server-sent events, which are separated by empty lines. */
async function* blocksOf(
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const part of bytes) {
    const blocks = (rest + decoder.decode(part, { stream: true })).split('\n\n');
    rest = blocks.pop() ?? '';
    yield* blocks;
  }
  if (rest) yield rest;
}

function fieldOf(line: string): [name: string, value: string] {
  const at = line.indexOf(':');
  return [line.slice(0, at), line.slice(at + 1).trimStart()];
}

/**
 * Yields the events as ADK's own client reads them (`AdkApiClient` of `@google/adk-devtools`). That client
 * splits the answer at empty lines and reads only the blocks that begin with `data: `. `test/contract` runs the
 * client itself.
 */
export async function* adkEventsOf(response: Response): AsyncGenerator<Frame['event'], void, void> {
  for await (const block of blocksOf(response.body ?? [])) {
    if (block.startsWith('data: ')) yield JSON.parse(block.slice('data: '.length));
  }
}

/** Returns to the events of an invocation, as a browser's EventSource does. */
export function comeBack(
  gatewayUrl: string,
  invocationPath: string,
  lastId?: number | string,
): Promise<Response> {
  const headers = lastId === undefined ? {} : { 'last-event-id': String(lastId) };
  return fetch(`${gatewayUrl}${invocationPath}/events`, { headers });
}

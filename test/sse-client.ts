import type { Event } from '@agentmesh/protocol';

/** A frame of a gateway's stream: an event, or what went wrong. */
export interface Frame {
  /** The committed event's number in its session; absent for a piece of one and for an error. */
  id: number | undefined;
  event: Event & { error?: string; code?: string };
}

/** The frames of an answer. Leaving the loop closes the connection. */
export async function* framesOf(response: Response): AsyncGenerator<Frame, void, void> {
  if (response.status === 204) return;
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  let waiting: Frame | undefined;
  for await (const block of blocksOf(response)) {
    const fields = new Map(block.split('\n').map((line) => fieldOf(line)));
    const data = fields.get('data');
    const id = fields.get('id');
    if (waiting && data === undefined && id !== undefined) waiting.id = Number(id);
    if (waiting) yield waiting;
    waiting = undefined;
    if (data === undefined) continue;
    const frame: Frame = { id: id === undefined ? undefined : Number(id), event: JSON.parse(data) };
    // Of `/run_sse` the id of a committed event follows in a block of its own.
    const isCommitted = !frame.event.partial && frame.event.error === undefined;
    if (isCommitted && id === undefined) waiting = frame;
    else yield frame;
  }
  if (waiting) yield waiting;
}

/** The blocks of a stream of server-sent events: what stands between empty lines. */
async function* blocksOf({ body }: Response): AsyncGenerator<string, void, void> {
  let rest = '';
  for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const blocks = (rest + text).split('\n\n');
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
 * The events that ADK's own client (`AdkApiClient` of `@google/adk-devtools`) reads: it splits the answer by empty lines, takes the blocks that begin
 * with `data: `, and leaves out the others. The package itself brings 235 MB of dependencies.
 */
export async function* adkEventsOf(response: Response): AsyncGenerator<Frame['event'], void, void> {
  for await (const block of blocksOf(response)) {
    if (block.startsWith('data: ')) yield JSON.parse(block.slice('data: '.length));
  }
}

/** Comes back to an invocation, as a browser's EventSource does. */
export function comeBack(
  gatewayUrl: string,
  invocationPath: string,
  lastId?: number | string,
): Promise<Response> {
  const headers = lastId === undefined ? {} : { 'last-event-id': String(lastId) };
  return fetch(`${gatewayUrl}${invocationPath}/events`, { headers });
}

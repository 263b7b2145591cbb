import type { Event } from '@agentmesh/protocol';
import { EventSourceParserStream } from 'eventsource-parser/stream';

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
  const frames = response.body
    ?.pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  for await (const { id, data } of frames ?? []) {
    yield { id: id === undefined ? undefined : Number(id), event: JSON.parse(data) };
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

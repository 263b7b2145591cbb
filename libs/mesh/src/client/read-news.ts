import type { Message } from '@agentmesh/bus';
import { eventSchema, header, type InvocationEnd, invocationEndSchema } from '@agentmesh/protocol';
import type { NumberedEvent } from './log-reader.ts';

/** Tells whether a message tells the end of a run. */
export function isEnd({ headers }: Message): boolean {
  return headers[header.frame] === 'result' || headers[header.end] !== undefined;
}

/** A message about a run: an event, the end of a run, or both. */
interface ToldNews {
  event?: NumberedEvent;
  end?: InvocationEnd;
}

/**
 * Reads a message. Returns undefined for a message that is not from an agent; the log shows whether an event
 * was missed.
 */
export function readNews(message: Message): ToldNews | undefined {
  const { headers } = message;
  try {
    if (headers[header.frame] === 'result') return { end: invocationEndSchema.parse(message.json()) };
    const event = eventSchema.parse(message.json());
    const seq = headers[header.seq];
    if (seq === undefined) return { event: { event } };
    const numbered = { event, seq: Number(seq) };
    const { [header.end]: status, [header.resume]: resume } = headers;
    if (status === undefined) return { event: numbered };
    return { event: numbered, end: invocationEndSchema.parse({ status, resume, lastSeq: numbered.seq }) };
  } catch {
    return undefined;
  }
}

import { expect } from 'vitest';

/** A request as the stand-in of a gateway gets it. */
export interface Asked {
  method: string;
  path: string;
  headers: Headers;
  body: unknown;
}

type Answer = Response | Error;

/** Returns a `fetch` that gives these answers, one after the other, and the requests that it got. */
export function answering(...answers: (Answer | ((asked: Asked) => Answer))[]) {
  const asked: Asked[] = [];
  const left = [...answers];
  const stub: typeof fetch = async (input, init = {}) => {
    init.signal?.throwIfAborted();
    const url = new URL(String(input));
    const body = typeof init.body === 'string' ? JSON.parse(init.body) : init.body;
    const request = {
      ...{ method: init.method ?? 'GET', path: url.pathname + url.search, body },
      headers: new Headers(init.headers),
    };
    asked.push(request);
    const next = left.shift();
    if (!next) throw new Error(`no answer for ${request.method} ${request.path}`);
    const answer = typeof next === 'function' ? next(request) : next;
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { fetch: stub, asked, expectAllGiven: () => expect(left).toEqual([]) };
}

/** An answer as JSON. */
export const json = (body: unknown, status = 200, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(body), { status, headers });

/** A stream of these chunks, which then ends, breaks off, or stays silent. */
export function stream(chunks: readonly string[], end: 'end' | 'break' | 'silence' = 'end', headers = {}) {
  const left = chunks.map((chunk) => new TextEncoder().encode(chunk));
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = left.shift();
      if (chunk) controller.enqueue(chunk);
      else if (end === 'end') controller.close();
      else if (end === 'break') controller.error(new TypeError('terminated'));
      else return new Promise(() => {});
      return undefined;
    },
  });
  return new Response(body, { headers });
}

export const headers = { 'x-invocation-id': 'e-1' };
const event = (text: string, more: object = {}) =>
  JSON.stringify({ id: text, invocationId: 'e-1', actions: {}, content: { parts: [{ text }] }, ...more });
/** A piece of an answer. */
export const piece = (text: string) => `data: ${event(text, { partial: true })}\n\n`;
/** An event as the answer to a new run has it: its number follows. */
export const fresh = (seq: number, text: string) => `data: ${event(text)}\n\nid: ${seq}\n\n`;
/** An event as the answer to a client that comes back has it. */
export const stored = (seq: number, text: string) => `id: ${seq}\ndata: ${event(text)}\n\n`;
/** The state of the run. */
export const state = (status: string, lastSeq: number, more: object = {}) =>
  json({ invocationId: 'e-1', status, lastSeq, ...more });

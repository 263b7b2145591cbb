import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';

/** An answer as its bytes go over the wire. */
export interface WireAnswer {
  /** Default 200. */
  status?: number;
  headers?: Record<string, string>;
  body: string;
  /** The number of bytes after which the answer ends; default: all. */
  cutAt?: number;
  /** True when the connection breaks at the cut; otherwise the answer ends there as if it were whole. */
  breaks?: boolean;
  /** The most bytes of one write; default: all at once. */
  writeBytes?: number;
  /** The wait before the first byte, in ms. */
  delayMs?: number;
}

/** A request to a {@link startRudeServer}. */
export interface WireRequest {
  path: string;
  isStream: boolean;
  body: Record<string, unknown>;
  /** The number of this request at this server, from 1. */
  call: number;
}

export interface RudeServer extends AsyncDisposable {
  /** The address for the clients of Gemini. Those of chat completions need `/v1` behind it. */
  readonly url: string;
  readonly requests: WireRequest[];
  close(): Promise<void>;
}

/**
 * Starts an HTTP server on the loopback address that sends what a function returns, byte by byte as it is: for answers
 * that no good server sends.
 */
export async function startRudeServer(answer: (request: WireRequest) => WireAnswer): Promise<RudeServer> {
  const requests: WireRequest[] = [];
  const server = createServer((incoming, outgoing) => {
    serve(incoming, outgoing).catch(() => outgoing.destroy());
  });
  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const body = JSON.parse(await readText(incoming)) as Record<string, unknown>;
    const path = incoming.url ?? '/';
    const isStream = path.includes('alt=sse') || body.stream === true;
    const request = { path, isStream, body, call: requests.length + 1 };
    requests.push(request);
    await send(outgoing, answer(request));
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async () => {
    if (!server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, requests, close, [Symbol.asyncDispose]: close };
}

async function send(outgoing: ServerResponse, answer: WireAnswer): Promise<void> {
  const { status = 200, headers = {}, body, cutAt, breaks = false, writeBytes, delayMs = 0 } = answer;
  if (delayMs > 0) await pause(delayMs);
  const bytes = Buffer.from(body).subarray(0, cutAt);
  outgoing.writeHead(status, headers);
  const size = writeBytes ?? Math.max(1, bytes.length);
  for (let at = 0; at < bytes.length; at += size)
    await new Promise<void>((resolve) => outgoing.write(bytes.subarray(at, at + size), () => resolve()));
  // The client has to read the bytes before the connection breaks.
  if (breaks) setImmediate(() => outgoing.destroy());
  else outgoing.end();
}

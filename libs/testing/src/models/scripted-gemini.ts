import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { type EmbedRequest, type EmbedScript, readEmbedRequest, vectorOf } from './gemini-embed.ts';
import { errorBody, type ModelReply, responseOf, roughTokens, streamOf } from './gemini-reply.ts';
import { BadModelRequest, type ModelRequest, readModelRequest } from './gemini-request.ts';

/** Returns the model's reply to a request. An exception becomes a 500 with its message. */
export type ModelScript = (request: ModelRequest) => ModelReply | Promise<ModelReply>;

export interface RecordedRequest extends ModelRequest {
  headers: IncomingHttpHeaders;
  /** Tells whether the client went away before the answer was complete. */
  aborted: boolean;
}

export interface ScriptedGemini extends AsyncDisposable {
  /** The address for `httpOptions.baseUrl` or `GOOGLE_GEMINI_BASE_URL`. */
  readonly url: string;
  /** All well-formed requests, in order of arrival. */
  readonly requests: RecordedRequest[];
  /** All requests for vectors, in order of arrival. */
  readonly embedRequests: EmbedRequest[];
  /** Closes the server and cuts open connections, hanging answers included. */
  close(): Promise<void>;
}

export interface ScriptedGeminiOptions {
  script: ModelScript;
  /** The script for vectors. */
  embed?: EmbedScript;
  /** The port; default a free port. */
  port?: number;
  /** The address to listen on; default 127.0.0.1. */
  host?: string;
}

/**
 * Starts an HTTP server that speaks Gemini's REST interface as `@google/genai` calls it, with answers from a
 * script: `generateContent`, `streamGenerateContent` as server-sent events, a rough `countTokens`, and
 * vectors by `embedContent` and `batchEmbedContents`.
 */
export async function startScriptedGemini(options: ScriptedGeminiOptions): Promise<ScriptedGemini> {
  const { script, embed = {}, port = 0, host = '127.0.0.1' } = options;
  const requests: RecordedRequest[] = [];
  const embedRequests: EmbedRequest[] = [];
  const server = createServer((incoming, outgoing) => {
    serve(incoming, outgoing, { script, embed, requests, embedRequests }).catch((error: unknown) =>
      outgoing.destroy(error as Error),
    );
  });
  server.listen(port, host);
  await once(server, 'listening');
  const close = async () => {
    if (!server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  const { port: chosen } = server.address() as AddressInfo;
  return { url: `http://${host}:${chosen}`, requests, embedRequests, close, [Symbol.asyncDispose]: close };
}

/** Makes a script that gives one reply after the other, and an error 500 after the last reply. */
export function sequence(...replies: (ModelReply | ModelScript)[]): ModelScript {
  let next = 0;
  return (request) => {
    const reply = replies[next];
    next += 1;
    if (reply === undefined) {
      const message = `the script has ${replies.length} replies and this is request ${next}; add a reply for it`;
      return { error: { status: 500, message } };
    }
    return typeof reply === 'function' ? reply(request) : reply;
  };
}

// The client asks for v1, v1beta or v1alpha, depending on its version and options.
const modelPath =
  /^\/v1(?:beta|alpha)?\/models\/([^/:]+):(generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents)$/;

interface Context {
  script: ModelScript;
  embed: EmbedScript;
  requests: RecordedRequest[];
  embedRequests: EmbedRequest[];
}

async function serve(incoming: IncomingMessage, outgoing: ServerResponse, context: Context): Promise<void> {
  const { pathname } = new URL(incoming.url ?? '/', 'http://localhost');
  const [, model, method] = (incoming.method === 'POST' && modelPath.exec(pathname)) || [];
  const body = await readText(incoming);
  if (model === undefined) {
    sendError(outgoing, { status: 404, message: `no such method: ${incoming.method} ${pathname}` });
    return;
  }
  const request = { model: decodeURIComponent(model), streaming: method === 'streamGenerateContent' };
  try {
    if (method === 'countTokens') {
      sendJson(outgoing, 200, { totalTokens: roughTokens(readModelRequest(body, { ...request, call: 0 })) });
      return;
    }
    if (method === 'embedContent' || method === 'batchEmbedContents') {
      sendVectors(outgoing, readEmbedRequest(body, request.model), context);
      return;
    }
    const read = readModelRequest(body, { ...request, call: context.requests.length + 1 });
    const recorded = { ...read, headers: incoming.headers, aborted: false };
    context.requests.push(recorded);
    await answer(outgoing, recorded, context.script);
  } catch (error) {
    if (!(error instanceof BadModelRequest)) throw error;
    sendError(outgoing, { status: 400, message: error.message });
  }
}

function sendVectors(
  outgoing: ServerResponse,
  request: EmbedRequest,
  { embed, embedRequests }: Context,
): void {
  embedRequests.push(request);
  const error = embed.fail?.(request);
  if (error) {
    sendError(outgoing, error);
    return;
  }
  const { texts, dimensions } = request;
  const embeddings = texts.map((text) => ({ values: vectorOf(text, dimensions, embed.meanings) }));
  sendJson(outgoing, 200, { embeddings, embedding: embeddings[0] });
}

async function answer(
  outgoing: ServerResponse,
  request: RecordedRequest,
  script: ModelScript,
): Promise<void> {
  const gone = new AbortController();
  outgoing.once('close', () => {
    request.aborted = !outgoing.writableFinished;
    gone.abort();
  });
  const reply = await runScript(script, request);
  try {
    if (reply.delayMs) await pause(reply.delayMs, undefined, { signal: gone.signal });
    if ('hang' in reply) return;
    if ('error' in reply) sendError(outgoing, reply.error);
    else if (request.streaming) await sendStream(outgoing, request, { reply, signal: gone.signal });
    else sendJson(outgoing, 200, responseOf(reply, request));
  } catch (error) {
    if (!gone.signal.aborted) throw error;
  }
}

async function runScript(script: ModelScript, request: ModelRequest): Promise<ModelReply> {
  try {
    return await script(request);
  } catch (error) {
    return {
      error: { status: 500, message: `the script failed: ${error instanceof Error ? error.message : error}` },
    };
  }
}

async function sendStream(
  outgoing: ServerResponse,
  request: ModelRequest,
  { reply, signal }: { reply: ModelReply; signal: AbortSignal },
): Promise<void> {
  outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const [at, chunk] of streamOf(reply, request).entries()) {
    if (at === reply.cutAfter) {
      outgoing.destroy();
      return;
    }
    if (at > 0 && reply.chunkDelayMs) await pause(reply.chunkDelayMs, undefined, { signal });
    // Each frame is one write, and each write is awaited, so that the client gets the pieces separately.
    await new Promise<void>((resolve) =>
      outgoing.write(`data: ${JSON.stringify(chunk)}\r\n\r\n`, () => resolve()),
    );
  }
  outgoing.end();
}

function sendJson(outgoing: ServerResponse, status: number, body: unknown): void {
  outgoing.writeHead(status, { 'content-type': 'application/json; charset=UTF-8' });
  outgoing.end(JSON.stringify(body));
}

function sendError(outgoing: ServerResponse, error: Parameters<typeof errorBody>[0]): void {
  sendJson(outgoing, error.status, errorBody(error));
}

export type { EmbedRequest, EmbedScript } from './gemini-embed.ts';
export type { ModelReply, ScriptedCall, ScriptedError } from './gemini-reply.ts';
export type { ModelRequest } from './gemini-request.ts';
export { latestFunctionResponses, latestUserText } from './gemini-request.ts';

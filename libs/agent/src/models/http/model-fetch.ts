import { MeshError } from '@agentmesh/protocol';
import { isErrorBody, isRecord, readErrorBody, statusOf } from './error-body.ts';
import { type Frame, FrameError, readFrames } from './event-stream.ts';
import { parseMarked } from './exact-json.ts';

type Fetch = typeof fetch;

/**
 * Makes a `fetch` for the clients of models that gives them what they can read: errors in one form with the
 * server's words and its `Retry-After`, whole JSON, and clean event streams. An error with status 200 becomes an
 * answer with its own status.
 *
 * @param inner the `fetch` that asks the server; default the global one
 * @param tidy changes an answer, or a piece of one, before the client reads it
 */
export function modelFetch(inner?: Fetch, tidy: (frame: Frame) => void = () => {}): Fetch {
  return async (input, init) => {
    const response = inner ? await inner(input, init) : await fetch(input, withoutTimeouts(init));
    if (!response.ok) return errorResponse(await response.text(), response.status, response);
    return wantsStream(input, init) ? await cleanStream(response, tidy) : await cleanJson(response, tidy);
  };
}

/**
 * Returns the options of a request without the limits of Node's `fetch`, which ends an answer that is silent for
 * five minutes: a model may think longer, and runs have their own deadlines.
 */
function withoutTimeouts(init: RequestInit | undefined): RequestInit {
  return { dispatcher: patient, ...init } as RequestInit;
}

interface Dispatcher {
  dispatch(options: object, handler: unknown): boolean;
}

const patient: Dispatcher = {
  dispatch(options, handler) {
    // Node creates it with the first request. Programs replace it, for example by a proxy.
    const usual = Reflect.get(globalThis, Symbol.for('undici.globalDispatcher.1')) as Dispatcher;
    return usual.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler);
  },
};

/** The client of Gemini asks by the address, those of chat completions by the body. */
function wantsStream(input: Parameters<Fetch>[0], init: RequestInit | undefined): boolean {
  const url = typeof input === 'object' && 'url' in input ? input.url : String(input);
  if (/[?&]alt=sse(?:&|$)/.test(url)) return true;
  return typeof init?.body === 'string' && /"stream"\s*:\s*true/.test(init.body);
}

async function cleanJson(response: Response, tidy: (frame: Frame) => void): Promise<Response> {
  const text = (await response.text()).replace(/^\uFEFF/, '');
  let body: unknown;
  try {
    body = parseMarked(text.trim() || '{}');
  } catch (cause) {
    throw new MeshError('unavailable', `the model's server sent no whole JSON: ${text.slice(0, 200)}`, {
      cause,
    });
  }
  if (isErrorBody(body)) return errorOrThrow(text, response);
  const [answer] = [body].flat();
  if (isRecord(answer)) tidy(answer);
  return respond(JSON.stringify(answer ?? {}), 'application/json', response);
}

async function cleanStream(response: Response, tidy: (frame: Frame) => void): Promise<Response> {
  const frames = readFrames(response.body ?? ReadableStream.from<Uint8Array<ArrayBuffer>>([]));
  let first: IteratorResult<Frame, void>;
  try {
    first = await frames.next();
  } catch (error) {
    if (error instanceof FrameError) return errorOrThrow(error.body, response);
    throw error;
  }
  return respond(ReadableStream.from(eventsOf(first, frames, tidy)), 'text/event-stream', response);
}

async function* eventsOf(
  first: IteratorResult<Frame, void>,
  frames: AsyncIterable<Frame>,
  tidy: (frame: Frame) => void,
) {
  const encoder = new TextEncoder();
  const write = (frame: Frame) => {
    tidy(frame);
    return encoder.encode(`data: ${JSON.stringify(frame)}\n\n`);
  };
  if (first.done) return;
  yield write(first.value);
  for await (const frame of frames) yield write(frame);
}

function respond(
  body: string | ReadableStream,
  contentType: string,
  { headers }: Response,
  status = 200,
): Response {
  const clean = new Headers(headers);
  for (const name of ['content-encoding', 'content-length', 'transfer-encoding']) clean.delete(name);
  clean.set('content-type', contentType);
  return new Response(body as ConstructorParameters<typeof Response>[0], { status, headers: clean });
}

/** @throws FrameError when the error names no status of HTTP */
function errorOrThrow(text: string, response: Response): Response {
  const status = statusOf(readErrorBody(text) ?? {});
  if (status === undefined) throw new FrameError(text);
  return errorResponse(text, status, response);
}

function errorResponse(text: string, status: number, response: Response): Response {
  const { headers, statusText } = response;
  const error = readErrorBody(text) ?? { message: statusText || `status ${status} without words` };
  const retryAfter = retryAfterOf(headers);
  const details = Array.isArray(error.details) ? error.details : [];
  const body = {
    error: {
      ...error,
      code: error.code ?? status,
      details: retryAfter === undefined ? details : [...details, retryInfo(retryAfter)],
    },
  };
  // A redirection to nowhere is no answer of the model.
  const isError = status >= 400 && status < 600;
  return respond(JSON.stringify(body), 'application/json', response, isError ? status : 502);
}

/** Reads how long the server asks to wait, in s. */
function retryAfterOf(headers: Headers): number | undefined {
  const ms = Number(headers.get('retry-after-ms') ?? Number.NaN);
  if (ms >= 0) return ms / 1_000;
  const after = headers.get('retry-after');
  if (!after) return undefined;
  const seconds = Number(after);
  if (seconds >= 0) return seconds;
  const at = Date.parse(after);
  return Number.isNaN(at) ? undefined : Math.max(0, (at - Date.now()) / 1_000);
}

function retryInfo(seconds: number) {
  return { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${seconds}s` };
}

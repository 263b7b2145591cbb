import { BackOff } from './back-off.ts';
import { errorFrom, MeshClientError } from './client-error.ts';

/** Options of every call. */
export interface RequestOptions {
  /** Ends the call with the reason of the signal. A run goes on; `cancel` ends it. */
  signal?: AbortSignal | undefined;
}

export interface ConnectionOptions {
  url: string;
  token?: string | (() => string | Promise<string>) | undefined;
  fetch?: typeof fetch | undefined;
}

interface Sent extends RequestOptions {
  query?: Record<string, string | number | boolean | undefined>;
  /** Sent as JSON, unless it has a `type`. */
  body?: unknown;
  /** The media type of a body that is sent as it is. */
  type?: string | undefined;
  headers?: Record<string, string>;
}

/** The time for which a call that may be repeated is tried, in ms. */
const patienceMs = 10_000;

/** A token that `fetch` can send, without the line break behind it: another one fails as if no gateway were there. */
const isHeaderText = /^[\x20-\x7e]*[\r\n]*$/;

/**
 * Says that no answer came. A browser keeps the answers of a gateway that does not allow the page, and does not tell
 * the page that one came.
 */
function noAnswer(url: string): string {
  const { location } = globalThis as { location?: { origin?: string } };
  const origin = location?.origin;
  if (origin === undefined || origin === new URL(url).origin) return `no gateway answers at ${url}`;
  return `no gateway answers at ${url}, or it does not allow pages of ${origin}; check that it runs there, and that its MESH_HTTP_CORS_ORIGINS names ${origin}`;
}

/** The way to the gateways. */
export class Connection {
  readonly #url: string;
  readonly #token: ConnectionOptions['token'];
  readonly #fetch: typeof fetch;

  constructor({ url, token, fetch: given = globalThis.fetch }: ConnectionOptions) {
    if (!/^https?:\/\//.test(url))
      throw new TypeError(`url must be the address of a gateway, such as https://agents.example, not ${url}`);
    this.#url = url.replace(/\/+$/, '');
    this.#token = token;
    // A browser's fetch must be called without another `this`.
    this.#fetch = (...request) => given(...request);
  }

  /** Sends one request. @throws MeshClientError for every status from 400 on, and without an answer */
  async send(method: string, path: string, sent: Sent = {}): Promise<Response> {
    const { query = {}, body, type, headers, signal } = sent;
    const given = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)] as [string, string]],
    );
    const search = given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
    const token = typeof this.#token === 'function' ? await this.#token() : this.#token;
    const contentType = type ?? (body === undefined ? undefined : 'application/json');
    if (token !== undefined && !isHeaderText.test(token))
      throw new MeshClientError(
        'the token has a character that no header can hold, such as a line break; give it as it was made',
        { code: 'unauthenticated' },
      );
    let response: Response;
    try {
      response = await this.#fetch(`${this.#url}${path}${search}`, {
        method,
        headers: {
          ...headers,
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(contentType !== undefined && { 'content-type': contentType }),
        },
        ...(body !== undefined && {
          body: type === undefined ? JSON.stringify(body) : (body as NonNullable<RequestInit['body']>),
        }),
        ...(signal && { signal }),
        // Node sends a stream only with this option.
        ...(body instanceof ReadableStream && { duplex: 'half' }),
      });
    } catch (cause) {
      signal?.throwIfAborted();
      throw new MeshClientError(noAnswer(this.#url), { code: 'unavailable', cause });
    }
    if (response.ok) return response;
    const text = await response.text().catch(() => '');
    const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
    throw errorFrom(readJson(text), {
      status: response.status,
      ...(Number.isFinite(retryAfter) && { retryAfter }),
    });
  }

  /** Sends a request that does no harm when it comes twice, until an answer comes. Returns its JSON. */
  async insist<T>(method: string, path: string, sent: Sent = {}): Promise<T> {
    const isLost = (error: MeshClientError) => error.code === 'unavailable';
    return await this.#again(isLost, sent, async () => (await this.send(method, path, sent)).json() as T);
  }

  /** Sends a request with a key by which gateways know it again, until an answer comes. Returns the answer. */
  async sendWithKey(method: string, path: string, sent: Sent): Promise<Response> {
    const headers = { ...sent.headers, 'idempotency-key': newKey() };
    // A gateway that answers has not lost the request.
    const isLost = ({ status }: MeshClientError) => status === undefined || status === 502;
    return await this.#again(isLost, sent, () => this.send(method, path, { ...sent, headers }));
  }

  async #again<T>(
    isLost: (error: MeshClientError) => boolean,
    { signal }: RequestOptions,
    send: () => Promise<T>,
  ): Promise<T> {
    const backOff = new BackOff(patienceMs);
    for (;;) {
      try {
        return await send();
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof MeshClientError && !isLost(error)) throw error;
        await backOff.wait(error, retryMs(error), signal);
      }
    }
  }
}

/** Returns a key that nobody else has. A page without HTTPS has no `randomUUID`. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Returns the shortest time until the next try that an error names, in ms. */
export function retryMs(error: unknown): number {
  return error instanceof MeshClientError ? (error.retryAfter ?? 0) * 1_000 : 0;
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import { deadlineSignal } from '@agentmesh/mesh';
import type { SessionRef } from '@agentmesh/protocol';

export interface DoorOptions {
  gateways: readonly string[];
  /** The number of the gateway to begin with. */
  first: number;
  /** The longest time of all requests together, in ms. */
  patienceMs: number;
  /** Ends all requests. */
  signal: AbortSignal;
}

/** The pause before a request to the next gateway, in ms. */
const pauseMs = 100;
/** The silence after which a client leaves a gateway, in ms. */
const silenceMs = 20_000;
/** The number of gateways that are tried before a request counts as unanswered. */
const tries = 8;

/** An answer of a gateway, with its body as JSON; undefined without an answer. */
export interface Answered {
  status: number;
  /** True when an earlier request was sent that nobody answered: it may have been carried out. */
  isRepeat?: boolean;
  body: Record<string, unknown>;
}

/** One client's way to the gateways. Any of them may die at any time. */
export class GatewayDoor implements Disposable {
  readonly #options: DoorOptions;
  readonly #until: ReturnType<typeof deadlineSignal>;
  #gateway: number;

  constructor(options: DoorOptions) {
    this.#options = options;
    this.#until = deadlineSignal(options.patienceMs, options.signal);
    this.#gateway = options.first % options.gateways.length;
  }

  get signal(): AbortSignal {
    return this.#until.signal;
  }

  [Symbol.dispose](): void {
    this.#until[Symbol.dispose]();
  }

  /** Goes to the next gateway, after a pause. */
  async elsewhere(): Promise<void> {
    this.#gateway = (this.#gateway + 1) % this.#options.gateways.length;
    await delay(pauseMs);
  }

  /** Sends one request to the current gateway. Returns undefined when the connection fails. */
  async send(method: string, path: string, body?: unknown): Promise<Response | undefined> {
    const { gateways, signal } = this.#options;
    signal.throwIfAborted();
    try {
      return await fetch(`${gateways[this.#gateway]}${path}`, {
        method,
        signal: within(signal, silenceMs),
        ...(body !== undefined && {
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
      });
    } catch {
      signal.throwIfAborted();
      return undefined;
    }
  }

  /** Sends one request to the current gateway and reads its answer. */
  async ask(method: string, path: string, body?: unknown): Promise<Answered | undefined> {
    const response = await this.send(method, path, body);
    const text = await response?.text().catch(() => undefined);
    this.signal.throwIfAborted();
    if (!response || text === undefined) return undefined;
    return { status: response.status, body: readObject(text) };
  }

  /** Sends a request that may be repeated, to one gateway after the other, until one answers below 500. */
  async insist(method: string, path: string, body?: unknown): Promise<Answered | undefined> {
    for (let attempt = 1; attempt <= tries; attempt += 1) {
      const answer = await this.ask(method, path, body);
      if (answer && answer.status < 500) return { ...answer, isRepeat: attempt > 1 };
      await this.elsewhere();
    }
    return undefined;
  }

  /** Makes a session, at whichever gateway answers. */
  async createSession(appName: string, userId: string): Promise<SessionRef> {
    for (;;) {
      const answer = await this.insist('POST', `${pathOfUser(appName, userId)}/sessions`, {});
      const id = answer?.body.id;
      if (typeof id === 'string') return { appName, userId, sessionId: id };
      await this.elsewhere();
    }
  }
}

/** Returns a signal that aborts with another signal, and after a time in ms. */
function within(signal: AbortSignal, ms: number): AbortSignal {
  const over = new AbortController();
  setTimeout(() => over.abort(), ms).unref();
  signal.addEventListener('abort', () => over.abort(signal.reason), { once: true });
  return over.signal;
}

/** Returns the path of a user. */
export const pathOfUser = (appName: string, userId: string) => `/apps/${appName}/users/${userId}`;

/** Returns the path of a session. */
export const pathOf = ({ appName, userId, sessionId }: SessionRef) =>
  `${pathOfUser(appName, userId)}/sessions/${sessionId}`;

/** Reads an object; empty for any other text. */
function readObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Returns the error code of a body; undefined when it has none. */
export const codeOf = ({ body }: Answered): string | undefined =>
  typeof body.code === 'string' ? body.code : undefined;

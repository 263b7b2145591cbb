import { setTimeout as delay } from 'node:timers/promises';
import type { SessionRef } from '@agentmesh/protocol';

export interface DoorOptions {
  gateways: readonly string[];
  /** The number of the gateway to begin with. */
  first: number;
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
  body: Record<string, unknown>;
}

/** One client's way to the gateways. Any of them may die at any time. */
export class GatewayDoor {
  readonly #options: DoorOptions;
  #gateway: number;

  constructor(options: DoorOptions) {
    this.#options = options;
    this.#gateway = options.first % options.gateways.length;
  }

  get signal(): AbortSignal {
    return this.#options.signal;
  }

  /** Goes to the next gateway, after a pause. */
  async elsewhere(): Promise<void> {
    this.#gateway = (this.#gateway + 1) % this.#options.gateways.length;
    await delay(pauseMs);
  }

  /** Sends one request to the current gateway. Returns undefined when the connection fails. */
  async send(
    method: string,
    path: string,
    body?: unknown,
    leave?: AbortSignal,
  ): Promise<Response | undefined> {
    const { gateways, signal } = this.#options;
    signal.throwIfAborted();
    try {
      return await fetch(`${gateways[this.#gateway]}${path}`, {
        method,
        signal: AbortSignal.any([signal, AbortSignal.timeout(silenceMs), ...(leave ? [leave] : [])]),
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
      if (answer && answer.status < 500) return answer;
      await this.elsewhere();
    }
    return undefined;
  }

  /** Makes a session, at whichever gateway answers. */
  async createSession(appName: string, userId: string): Promise<SessionRef> {
    for (;;) {
      const answer = await this.insist('POST', `/apps/${appName}/users/${userId}/sessions`, {});
      const id = answer?.body.id;
      if (typeof id === 'string') return { appName, userId, sessionId: id };
      await this.elsewhere();
    }
  }
}

/** Returns the path of a session. */
export const pathOf = ({ appName, userId, sessionId }: SessionRef) =>
  `/apps/${appName}/users/${userId}/sessions/${sessionId}`;

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

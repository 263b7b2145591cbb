import { setTimeout as delay } from 'node:timers/promises';
import type { Event, SessionRef } from '@agentmesh/protocol';
import type { Random } from '@agentmesh/testing';
import { framesOf } from '../sse-client.ts';
import { app } from './agents.ts';
import type { ClientView } from './check/history.ts';

/**
 * The way in which a client continues after a lost connection: it returns to the invocation's events, or
 * reads the session until the end.
 */
export type ComeBack = 'reattach' | 'poll';

/** One message of a client, with the client's knowledge about it. */
export interface Attempt extends SessionRef {
  /**
   * The invocation's id, which comes with the first byte of the answer; unknown when the connection broke
   * before.
   */
  invocationId?: string;
  view: ClientView;
}

export interface ClientOptions {
  gateways: readonly string[];
  comeBack: ComeBack;
  random: Random;
  /** Tells whether the events hold all last answers of the message's run. */
  isOver: (events: readonly Event[], invocationId: string) => boolean;
  signal: AbortSignal;
}

const pauseMs = 100;
/** The silence after which the client leaves a gateway, in ms. */
const silenceMs = 20_000;

/** A client of the gateways. Any of them may die at any time. */
export class ChaosClient {
  readonly #options: ClientOptions;
  #gateway = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#gateway = options.random.integer(0, options.gateways.length - 1);
  }

  async createSession(userId: string): Promise<SessionRef> {
    for (;;) {
      const response = await this.#send('POST', `/apps/${app}/users/${userId}/sessions`, {});
      const body = response?.ok ? await readJson<{ id: string }>(response) : undefined;
      if (body) return { appName: app, userId, sessionId: body.id };
      await this.#elsewhere();
    }
  }

  /**
   * Sends a message and follows the run to its end. When the attempt has no invocation afterwards, no gateway
   * accepted the message as far as the client knows; it may then be sent again, in another session.
   */
  async run(attempt: Attempt, text: string): Promise<void> {
    const { appName, userId, sessionId } = attempt;
    const response = await this.#send('POST', '/run_sse', {
      ...{ appName, userId, sessionId },
      newMessage: { role: 'user', parts: [{ text }] },
      streaming: true,
    });
    if (!response?.ok) {
      await response?.body?.cancel().catch(() => {});
      await this.#elsewhere();
      return;
    }
    const invocationId = response.headers.get('x-invocation-id') ?? '';
    attempt.invocationId = invocationId;
    let lastSeq = await this.#read(response, attempt.view, 0);
    while (!attempt.view.finished) {
      await this.#elsewhere();
      attempt.view.reconnects += 1;
      lastSeq =
        this.#options.comeBack === 'reattach'
          ? await this.#reattach(attempt, invocationId, lastSeq)
          : await this.#poll(attempt, invocationId);
    }
  }

  async #reattach({ view, ...ref }: Attempt, invocationId: string, after: number): Promise<number> {
    const response = await this.#send(
      'GET',
      `${pathOf(ref)}/invocations/${invocationId}/events?after=${after}`,
    );
    if (response?.status === 204) view.finished = true;
    if (response?.status !== 200) {
      await response?.body?.cancel().catch(() => {});
      return after;
    }
    return await this.#read(response, view, after);
  }

  /** Reads the events after the last one that the client saw. */
  async #poll({ view, ...ref }: Attempt, invocationId: string): Promise<number> {
    const response = await this.#send('GET', pathOf(ref));
    const session = response?.ok ? await readJson<{ events: Event[] }>(response) : undefined;
    const events = session?.events.filter((event) => event.invocationId === invocationId) ?? [];
    const told = events.filter(({ author }) => author !== 'user').map(({ id }) => id);
    view.seen.push(...told.slice(told.lastIndexOf(view.seen.at(-1) ?? '') + 1));
    view.finished = this.#options.isOver(events, invocationId);
    return 0;
  }

  /** Reads server-sent events to their end. Returns the number of the last committed one. */
  async #read(response: Response, view: ClientView, after: number): Promise<number> {
    let last = after;
    let failed = false;
    try {
      for await (const { id, event } of framesOf(response)) {
        if (id !== undefined) last = id;
        // Either the run or the gateway failed; the log shows which.
        if (event.error !== undefined) failed = true;
        else if (!event.partial) view.seen.push(event.id);
      }
      view.finished = !failed;
    } catch (error) {
      if (this.#options.signal.aborted) throw error;
    }
    return last;
  }

  async #send(method: string, path: string, body?: unknown): Promise<Response | undefined> {
    const { gateways, signal } = this.#options;
    signal.throwIfAborted();
    try {
      return await fetch(`${gateways[this.#gateway]}${path}`, {
        method,
        signal: AbortSignal.any([signal, AbortSignal.timeout(silenceMs)]),
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

  async #elsewhere(): Promise<void> {
    this.#gateway = (this.#gateway + 1) % this.#options.gateways.length;
    await delay(pauseMs);
  }
}

const pathOf = ({ appName, userId, sessionId }: SessionRef) =>
  `/apps/${appName}/users/${userId}/sessions/${sessionId}`;

async function readJson<T>(response: Response): Promise<T | undefined> {
  return (await response.json().catch(() => undefined)) as T | undefined;
}

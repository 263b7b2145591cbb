import { setTimeout as delay } from 'node:timers/promises';
import { busName, clientManifest } from '@agentmesh/mesh';
import { every, everySession, header, subjects } from '@agentmesh/protocol';
import { headers, type Msg, type NatsConnection } from '@nats-io/transport-node';
import type { EndNews } from '../check/history.ts';
import { connectAs, type Login } from '../field/logins.ts';
import { readEnd } from './end-news.ts';

const names = subjects();

/** A message of a program that knows only NATS. */
export interface Publication {
  subject: string;
  payload: unknown;
  /** The id by which the stream recognises a repetition; absent for a publication that is not repeated. */
  messageId?: string;
  deadlineMs?: number;
}

/** The way of plain NATS programs to the mesh, with the rights of the user `client`. */
export interface NatsDoor extends AsyncDisposable {
  /** All ends that were published, as far as the connection was up. */
  readonly news: EndNews[];
  /**
   * Publishes until the stream acknowledges the message. Returns false when the signal ends it before.
   */
  publish(publication: Publication, signal: AbortSignal): Promise<boolean>;
  /** Resolves with the published end of an invocation; with undefined when none came in time. */
  endOf(invocationId: string, timeoutMs: number): Promise<EndNews | undefined>;
  /** Returns the pending calls of a session; undefined when no gateway answers. */
  pending(query: { app: string; user: string; session: string }): Promise<unknown[] | undefined>;
}

/** The time for one acknowledgement, in ms. */
const ackMs = 1_500;

export async function openNatsDoor(url: string, login: Login): Promise<NatsDoor> {
  const connection = await connectAs(url, busName(clientManifest), login, {
    maxReconnectAttempts: -1,
    reconnectTimeWait: 100,
    reconnectJitter: 100,
    pingInterval: 2_000,
    maxPingOut: 1,
  });
  const news: EndNews[] = [];
  const waiting = new Map<string, Set<(end: EndNews) => void>>();
  listenForEnds(connection, (end) => {
    news.push(end);
    for (const tell of waiting.get(end.invocationId) ?? []) tell(end);
  });
  return {
    news,
    publish: (publication, signal) => publishUntilSafe(connection, publication, signal),
    async endOf(invocationId, timeoutMs) {
      const told = Promise.withResolvers<EndNews | undefined>();
      const listeners = waiting.get(invocationId) ?? new Set();
      waiting.set(invocationId, listeners.add(told.resolve));
      const timer = setTimeout(() => told.resolve(undefined), timeoutMs);
      const end = await told.promise;
      clearTimeout(timer);
      listeners.delete(told.resolve);
      return end;
    },
    async pending(query) {
      try {
        const reply = await connection.request(names.pending, JSON.stringify(query), { timeout: ackMs });
        return reply.json<{ pending?: unknown[] }>().pending;
      } catch {
        return undefined;
      }
    },
    [Symbol.asyncDispose]: () => connection.close(),
  };
}

async function publishUntilSafe(
  connection: NatsConnection,
  { subject, payload, messageId, deadlineMs }: Publication,
  signal: AbortSignal,
): Promise<boolean> {
  const fields = headers();
  if (messageId !== undefined) fields.set(header.messageId, messageId);
  if (deadlineMs !== undefined) fields.set(header.deadline, String(Date.now() + deadlineMs));
  while (!signal.aborted) {
    try {
      const reply = await connection.request(subject, JSON.stringify(payload), {
        headers: fields,
        timeout: ackMs,
      });
      const { stream, error } = reply.json<{ stream?: string; error?: unknown }>();
      if (stream !== undefined && error === undefined) return true;
    } catch {
      // The server is away, or the stream has no leader; the id makes the repetition harmless.
    }
    await delay(100);
  }
  return false;
}

/** Listens to the ends of all invocations: the subject of an event tells its invocation. */
function listenForEnds(connection: NatsConnection, tell: (end: EndNews) => void): void {
  connection.subscribe(names.invocationWatch(everySession, every), {
    callback: (error, message) => {
      const end = error ? undefined : endIn(message);
      if (end) tell(end);
    },
  });
}

function endIn(message: Msg): EndNews | undefined {
  const { subject, headers: fields } = message;
  if (!fields) return undefined;
  const headers = Object.fromEntries(fields.keys().map((key) => [key, fields.get(key)]));
  return readEnd({ subject, headers, json: () => message.json() });
}

import { type NatsConnection, PermissionViolationError } from '@nats-io/nats-core';
import type { OnError } from '../../bus/broker-link.ts';
import { fromNats } from './nats-errors.ts';

export interface ConnectionStatus {
  readonly connected: boolean;
  readonly closed: AbortSignal;
  onConnected(listener: () => void): () => void;
  onDenied(listener: (subject: string) => void): () => void;
  /** Notes a subject whose refusal is an answer and no defect, so that it is not reported. */
  expectDenied(subject: string): void;
}

/** Follows the client's reports about its connection. */
export function watchStatus(connection: NatsConnection, onError: OnError): ConnectionStatus {
  const closing = new AbortController();
  const connectedListeners = new Set<() => void>();
  const deniedListeners = new Set<(subject: string) => void>();
  const expectedDenials = new Set<string>();
  let connected = true;

  async function follow() {
    for await (const status of connection.status()) {
      if (status.type === 'disconnect') connected = false;
      if (status.type === 'reconnect') {
        connected = true;
        for (const listener of [...connectedListeners]) listener();
      }
      if (status.type === 'error') onServerError(status.error);
      if (status.type === 'slowConsumer') onError(new Error('slow consumer'), 'nats connection');
    }
  }

  /**
   * Handles an error of the server. The callback of a subscription learns of its refusal; a refused publish
   * is reported only here.
   */
  function onServerError(error: Error) {
    if (error instanceof PermissionViolationError) {
      if (error.operation !== 'publish' || expectedDenials.has(error.subject)) return;
      onError(fromNats(error, 'send'), 'nats connection');
      for (const listener of [...deniedListeners]) listener(error.subject);
      return;
    }
    onError(error, 'nats connection');
  }

  follow().catch((thrown) => onError(thrown, 'nats connection'));
  void connection.closed().then(() => {
    connected = false;
    closing.abort();
  });

  return {
    get connected() {
      return connected;
    },
    closed: closing.signal,
    onConnected: (listener) => add(connectedListeners, listener),
    onDenied: (listener) => add(deniedListeners, listener),
    expectDenied: (subject) => void expectedDenials.add(subject),
  };
}

function add<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

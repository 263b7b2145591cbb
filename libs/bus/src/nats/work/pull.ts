import { MeshError } from '@agentmesh/protocol';
import { type Msg, type NatsConnection, nanos } from '@nats-io/nats-core';
import type { BrokerLink } from '../../bus/broker-link.ts';
import { provisionHint } from '../wire/nats-errors.ts';
import { statusOf } from '../wire/packet.ts';

/**
 * The life of a pull request, in ms. This life is short because the server ends a request only by letting it
 * expire. A short life also soon shows that the server has lost a request, as a new leader does.
 */
const expiresMs = 1_000;

export interface PullRequest {
  /** The consumer's subject for requests. */
  subject: string;
  /** The subject for the messages. */
  inbox: string;
  /** The number of messages that the request asks for. */
  count: number;
}

/**
 * Asks a pull consumer for some messages and hands over each as it comes. This function does not use `consume`
 * and `fetch` of the client library, because they take messages before slots are free, and messages on their
 * way at a stop are delivered again only after the ack wait.
 *
 * Resolves when all messages have come, and when no more will come: the request expired, was lost with its
 * connection, or was revoked.
 *
 * @param revoke ends the request before it expires
 * @throws when the consumer is gone or refuses
 */
export function pullSome(
  connection: NatsConnection,
  link: BrokerLink,
  { subject, inbox, count }: PullRequest,
  take: (msg: Msg) => void,
  revoke: AbortSignal,
): Promise<void> {
  const over = Promise.withResolvers<void>();
  let missing = count;
  const subscription = connection.subscribe(inbox, { callback: onMessage });
  const silence = setTimeout(end, 2 * expiresMs);
  const removeConnectedListener = link.onConnected(end);
  const removeDeniedListener = link.onDenied((deniedSubject) => {
    if (deniedSubject === subject)
      fail(new MeshError('permission_denied', `this service may not send to ${subject}`));
  });
  revoke.addEventListener('abort', onRevoke);
  link.closed.addEventListener('abort', end);

  function release() {
    clearTimeout(silence);
    removeConnectedListener();
    removeDeniedListener();
    revoke.removeEventListener('abort', onRevoke);
    link.closed.removeEventListener('abort', end);
    if (!subscription.isClosed() && !subscription.isDraining()) subscription.unsubscribe();
  }

  function end() {
    release();
    over.resolve();
  }

  function fail(error: Error) {
    release();
    over.reject(error);
  }

  function onMessage(error: Error | null, msg: Msg) {
    if (error) {
      fail(error);
      return;
    }
    const status = statusOf(msg);
    if (status === 0) {
      missing -= 1;
      take(msg);
      if (missing === 0) end();
    } else if (status === 408) end();
    else fail(refusal(status, msg.headers?.description ?? '', subject));
  }

  /** Unsubscribes, which ends the request at the server. Takes messages that the server sent before. */
  function onRevoke() {
    if (!link.connected) {
      end();
      return;
    }
    void subscription
      .drain()
      .catch(() => {})
      .then(end);
  }

  const request = { batch: count, expires: nanos(expiresMs) };
  try {
    connection.publish(subject, JSON.stringify(request), { reply: inbox });
  } catch (thrown) {
    fail(MeshError.from(thrown));
  }
  return over.promise;
}

function refusal(status: number, description: string, subject: string): MeshError {
  const code = status === 404 || status === 503 ? 'failed_precondition' : 'unavailable';
  const hint = code === 'failed_precondition' ? `; ${provisionHint}` : '';
  return new MeshError(code, `${subject}: ${status} ${description || 'no such consumer'}${hint}`);
}

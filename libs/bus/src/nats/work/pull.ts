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

/**
 * Asks a pull consumer for one message and waits for it. This function does not use `consume` and `fetch` of
 * the client library, because they take messages before slots are free, and messages on their way at a stop
 * are delivered again only after the ack wait.
 *
 * @param revoke ends the request before it expires
 * @returns undefined when no message came: the request expired, was lost with its connection, or was revoked
 * @throws when the consumer is gone or refuses
 */
export function pullOne(
  connection: NatsConnection,
  link: BrokerLink,
  { subject, inbox }: { subject: string; inbox: string },
  revoke: AbortSignal,
): Promise<Msg | undefined> {
  const result = Promise.withResolvers<Msg | undefined>();
  const subscription = connection.subscribe(inbox, { callback: onMessage });
  const silence = setTimeout(() => end(), 2 * expiresMs);
  const removeConnectedListener = link.onConnected(() => end());
  const removeDeniedListener = link.onDenied((deniedSubject) => {
    if (deniedSubject === subject)
      fail(new MeshError('permission_denied', `this service may not send to ${subject}`));
  });
  revoke.addEventListener('abort', onRevoke);
  link.closed.addEventListener('abort', onClosed);

  function release() {
    clearTimeout(silence);
    removeConnectedListener();
    removeDeniedListener();
    revoke.removeEventListener('abort', onRevoke);
    link.closed.removeEventListener('abort', onClosed);
    if (!subscription.isClosed() && !subscription.isDraining()) subscription.unsubscribe();
  }

  function end(msg?: Msg) {
    release();
    result.resolve(msg);
  }

  function fail(error: Error) {
    release();
    result.reject(error);
  }

  function onMessage(error: Error | null, msg: Msg) {
    if (error) {
      fail(error);
      return;
    }
    const status = statusOf(msg);
    if (status === 0) end(msg);
    else if (status === 408) end();
    else fail(refusal(status, msg.headers?.description ?? '', subject));
  }

  /** Unsubscribes, which ends the request at the server. Takes a message that the server sent before. */
  function onRevoke() {
    if (!link.connected) {
      end();
      return;
    }
    void subscription
      .drain()
      .catch(() => {})
      .then(() => end());
  }

  function onClosed() {
    end();
  }

  const request = { batch: 1, expires: nanos(expiresMs) };
  try {
    connection.publish(subject, JSON.stringify(request), { reply: inbox });
  } catch (thrown) {
    fail(MeshError.from(thrown));
  }
  return result.promise;
}

function refusal(status: number, description: string, subject: string): MeshError {
  const code = status === 404 || status === 503 ? 'failed_precondition' : 'unavailable';
  const hint = code === 'failed_precondition' ? `; ${provisionHint}` : '';
  return new MeshError(code, `${subject}: ${status} ${description || 'no such consumer'}${hint}`);
}

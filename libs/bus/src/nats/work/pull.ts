import { MeshError } from '@agentmesh/protocol';
import { type Msg, type NatsConnection, nanos } from '@nats-io/nats-core';
import type { BrokerLink } from '../../bus/broker-link.ts';
import { provisionHint } from '../wire/nats-errors.ts';
import { statusOf } from '../wire/packet.ts';

/**
 * Short, because requests are best left to expire: there is no other way to end one that the server takes part in. It also
 * shows soon when the server forgot one, as a new leader does.
 */
const expiresMs = 1_000;

/**
 * Asks a pull consumer for one message and waits for it. The client library's `consume` and `fetch` are not used: they take
 * messages ahead of free slots, and what is on its way when they are stopped is lost until the ack wait is over.
 *
 * @param revoke ends the request before it expires
 * @returns `undefined` when there is none for now: the request expired, died with its connection, or was revoked
 * @throws when the consumer is gone or refuses
 */
export function pullOne(
  connection: NatsConnection,
  link: BrokerLink,
  { subject, inbox }: { subject: string; inbox: string },
  revoke: AbortSignal,
): Promise<Msg | undefined> {
  const pulled = Promise.withResolvers<Msg | undefined>();
  const subscription = connection.subscribe(inbox, { callback: onMessage });
  const silence = setTimeout(() => end(), 2 * expiresMs);
  const forgetConnected = link.onConnected(() => end());
  const forgetDenied = link.onDenied((denied) => {
    if (denied === subject)
      fail(new MeshError('permission_denied', `this service may not send to ${subject}`));
  });
  revoke.addEventListener('abort', onRevoke);
  link.closed.addEventListener('abort', onClosed);

  function release() {
    clearTimeout(silence);
    forgetConnected();
    forgetDenied();
    revoke.removeEventListener('abort', onRevoke);
    link.closed.removeEventListener('abort', onClosed);
    if (!subscription.isClosed() && !subscription.isDraining()) subscription.unsubscribe();
  }

  function end(msg?: Msg) {
    release();
    pulled.resolve(msg);
  }

  function fail(error: Error) {
    release();
    pulled.reject(error);
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

  /** The server withdraws the request; what it sent before comes through first. */
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
  return pulled.promise;
}

function refusal(status: number, description: string, subject: string): MeshError {
  const code = status === 404 || status === 503 ? 'failed_precondition' : 'unavailable';
  const hint = code === 'failed_precondition' ? `; ${provisionHint}` : '';
  return new MeshError(code, `${subject}: ${status} ${description || 'no such consumer'}${hint}`);
}

import { TimeoutError } from '@nats-io/nats-core';
import type { BrokerLink } from '../../bus/broker-link.ts';

/**
 * Waits for the reply to a request. Rejects as after a time limit when the connection was made anew: the reply
 * was for the old connection and does not come any more.
 */
export async function untilReconnect<T>(
  link: Pick<BrokerLink, 'onConnected'>,
  reply: Promise<T>,
): Promise<T> {
  const reconnected = Promise.withResolvers<never>();
  const removeListener = link.onConnected(() => reconnected.reject(new TimeoutError()));
  try {
    return await Promise.race([reply, reconnected.promise]);
  } finally {
    removeListener();
  }
}

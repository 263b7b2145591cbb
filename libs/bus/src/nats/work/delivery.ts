import type { Msg, NatsConnection } from '@nats-io/nats-core';
import type { BrokerLink, Delivery } from '../../bus/broker-link.ts';
import { pause } from '../../bus/pause.ts';
import { whenConnected } from '../../bus/when-connected.ts';
import { fromNats, isTimeout } from '../wire/nats-errors.ts';
import { toPacket } from '../wire/packet.ts';

const ackMs = 1_000;
const ackTries = 10;

/**
 * A message of a pull consumer. Its reply subject says how often and under which number it was delivered:
 * `$JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<timestamp ns>.<pending>`, later servers put two
 * tokens more after `$JS.ACK` (domain, account) and may add some at the end (ADR-15 of NATS).
 */
export function toDelivery(connection: NatsConnection, link: BrokerLink, msg: Msg): Delivery {
  const packet = toPacket(msg);
  const ackTo = msg.reply ?? '';
  const tokens = ackTo.split('.');
  const at = tokens.length > 9 ? 6 : 4;
  const [attempt, streamSeq, , timestamp] = tokens.slice(at);

  function say(word: string) {
    // While the connection is away the server delivers again after the ack wait; there is nobody to tell.
    if (!link.connected) return;
    try {
      connection.publish(ackTo, word);
    } catch {
      // The connection closes under us: the same.
    }
  }

  return {
    ...packet,
    reply: undefined,
    attempt: Number(attempt),
    // Both: the number alone starts again when an operator makes the stream anew.
    key: `${timestamp}-${streamSeq}`,
    working: () => say('+WPI'),
    nak: (delayMs) => say(delayMs > 0 ? `-NAK {"delay":${Math.round(delayMs * 1e6)}}` : '-NAK'),
    ack: () => ack(connection, link, ackTo),
  };
}

/** A request: the reply says that the server has it. A late acknowledgement is taken, so that trying on is right. */
async function ack(connection: NatsConnection, link: BrokerLink, ackTo: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    await whenConnected(link);
    try {
      await connection.request(ackTo, '+ACK', { timeout: ackMs });
      return;
    } catch (thrown) {
      if (!isTimeout(thrown) || tries >= ackTries) throw fromNats(thrown, 'acknowledge');
      await pause(100, link.closed);
    }
  }
}

import { header } from '@agentmesh/protocol';
import type { Msg, NatsConnection } from '@nats-io/nats-core';
import type { BrokerLink, Delivery } from '../../bus/broker-link.ts';
import { pause } from '../../bus/pause.ts';
import { whenConnected } from '../../bus/when-connected.ts';
import { fromNats, isTimeout } from '../wire/nats-errors.ts';
import { toPacket } from '../wire/packet.ts';
import { untilReconnect } from '../wire/until-reconnect.ts';

const ackMs = 1_000;
const ackTries = 10;

/**
 * Turns a message of a pull consumer into a delivery. The reply subject of the message holds the attempt and
 * the sequence numbers: `$JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<timestamp
 * ns>.<pending>`. Later servers put two more tokens after `$JS.ACK` (domain, account) and may add some at the
 * end (ADR-15 of NATS).
 */
export function toDelivery(connection: NatsConnection, link: BrokerLink, msg: Msg): Delivery {
  const packet = toPacket(msg);
  const ackTo = msg.reply ?? '';
  const tokens = ackTo.split('.');
  const at = tokens.length > 9 ? 6 : 4;
  const [attempt, streamSeq, , timestamp] = tokens.slice(at);

  function say(word: string) {
    // Without a connection no server gets the acknowledgement; the server delivers the message again after
    // the ack wait.
    if (!link.connected) return;
    try {
      connection.publish(ackTo, word);
    } catch {
      // The connection has just closed: the same holds.
    }
  }

  return {
    ...packet,
    reply: undefined,
    attempt: Number(attempt),
    // The timestamp is part of the key because the numbers start again when an operator makes the stream
    // anew.
    key: `${timestamp}-${streamSeq}`,
    place: Number(streamSeq),
    working: () => say('+WPI'),
    nak: (delayMs) => say(delayMs > 0 ? `-NAK {"delay":${Math.round(delayMs * 1e6)}}` : '-NAK'),
    async ack() {
      // Behind the acknowledgement a large payload is removed, so it has to be sure.
      if (packet.headers[header.claim] === undefined && link.connected) say('+ACK');
      else await ack(connection, link, ackTo);
    },
  };
}

/**
 * Acknowledges by a request, whose reply confirms it. The server accepts late acknowledgements, so it is
 * right to try again.
 */
async function ack(connection: NatsConnection, link: BrokerLink, ackTo: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    await whenConnected(link);
    try {
      await untilReconnect(link, connection.request(ackTo, '+ACK', { timeout: ackMs }));
      return;
    } catch (thrown) {
      if (!isTimeout(thrown) || tries >= ackTries) throw fromNats(thrown, 'acknowledge');
      await pause(100, link.closed);
    }
  }
}

import { type Headers, header, MeshError } from '@agentmesh/protocol';
import { jetstream } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import type { BrokerLink, Packet } from '../../bus/broker-link.ts';
import { pause } from '../../bus/pause.ts';
import { connectionWaitMs, whenConnected } from '../../bus/when-connected.ts';
import { withoutAlone } from '../../messages/message-headers.ts';
import {
  fromNats,
  fullHint,
  isBeingStored,
  isNobodyThere,
  isNotAlone,
  isTimeout,
  isWrongSequence,
  provisionHint,
} from './nats-errors.ts';
import { toNatsHeaders } from './packet.ts';
import { untilReconnect } from './until-reconnect.ts';

const attemptMs = 1_000;
const pauseMs = 100;
/** The longest wait for a stream on a single server, in ms: it is enough for the server's start. */
const missingMs = 300;

/**
 * Publishes a message to a stream until it is stored. All tries use the same id, so that a lost
 * acknowledgement makes no second message.
 */
export async function enqueue(
  connection: NatsConnection,
  link: BrokerLink,
  { subject, headers, bytes }: Packet,
): Promise<{ duplicate: boolean; isSure: boolean }> {
  const js = jetstream(connection, { timeout: attemptMs });
  const msgID = headers[header.messageId] ?? '';
  let tries = 0;
  const publish = async (given: Headers) => {
    tries += 1;
    return await js.publish(subject, bytes, { headers: toNatsHeaders(given), msgID });
  };
  const ack = await untilStored(connection, link, `enqueue to ${subject}`, async () => {
    try {
      return await publish(headers);
    } catch (thrown) {
      if (!isNotAlone(thrown)) throw thrown;
      return await publish(withoutAlone(headers));
    }
  });
  return { duplicate: ack.duplicate, isSure: tries === 1 };
}

/** Writes a card into the bucket. Repeating it changes nothing. */
export async function putCard(
  connection: NatsConnection,
  link: BrokerLink,
  bucket: string,
  key: string,
  bytes: Uint8Array,
  onlyIfAbsent = false,
): Promise<void> {
  const js = jetstream(connection, { timeout: attemptMs });
  const options = onlyIfAbsent ? { expect: { lastSubjectSequence: 0 } } : {};
  const subject = `$KV.${bucket}.${key}`;
  try {
    await untilStored(connection, link, `write card ${key}`, () => js.publish(subject, bytes, options));
  } catch (thrown) {
    if (!onlyIfAbsent || !isWrongSequence(MeshError.from(thrown).cause)) throw thrown;
  }
}

/**
 * Publishes until the stream has stored the message, or until it is clear that the stream cannot store it. That is not
 * clear when only a further try is refused: the one before, whose answer was lost, may have been stored.
 *
 * @throws MeshError `unavailable` when the message may be stored or not; other codes when it is not stored
 */
export async function untilStored<T>(
  connection: NatsConnection,
  link: BrokerLink,
  doing: string,
  publish: () => Promise<T>,
): Promise<T> {
  const startedAt = performance.now();
  let mayBeStored = false;
  for (;;) {
    await whenConnected(link);
    try {
      return await untilReconnect(link, publish());
    } catch (thrown) {
      const passedMs = performance.now() - startedAt;
      if (isTimeout(thrown) || isBeingStored(thrown)) mayBeStored = true;
      const refusal = mayBeStored ? undefined : refusalOf(thrown, doing, connection, passedMs);
      if (refusal) throw refusal;
      if (isWrongSequence(thrown)) throw cameSecond(doing, thrown);
      if (passedMs > connectionWaitMs) throw notStored(doing, thrown);
      await pause(pauseMs, link.closed);
    }
  }
}

/** Returns the error for a message that a stream refuses; nothing while there may be a stream soon. */
function refusalOf(
  thrown: unknown,
  doing: string,
  connection: NatsConnection,
  passedMs: number,
): MeshError | undefined {
  if (!isNobodyThere(thrown)) return fromNats(thrown, doing);
  // In a cluster there is no listener either while a new leader is elected.
  const isCluster = connection.info?.cluster !== undefined;
  return isCluster || passedMs <= missingMs ? undefined : noStream(doing, thrown);
}

function noStream(doing: string, cause: unknown): MeshError {
  return new MeshError(
    'failed_precondition',
    `${doing}: nothing of this name has a queue; check the name, or ${provisionHint}`,
    { cause },
  );
}

/** Returns the error for a message that may be in its place already, by a try whose answer was lost. */
function cameSecond(doing: string, cause: unknown): MeshError {
  const advice = 'read the subject again: it is an earlier try of this write, or another write';
  return new MeshError('unavailable', `${doing}: a message came first; ${advice}`, { cause });
}

/**
 * Returns the error for a message that was not acknowledged. Its cause may be a missing stream: in a cluster nobody
 * listens while there is no leader.
 */
function notStored(doing: string, cause: unknown): MeshError {
  const advice = `try again; if nothing was provisioned yet, ${provisionHint}; if it stays so, ${fullHint}`;
  return new MeshError('unavailable', `${doing}: not stored within ${connectionWaitMs} ms; ${advice}`, {
    cause,
  });
}

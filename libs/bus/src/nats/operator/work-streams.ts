import { setTimeout as delay } from 'node:timers/promises';
import { every, header, meshTime, type QueueKind, type Subjects, subjects } from '@agentmesh/protocol';
import {
  type ConsumerInfo,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  type StoredMsg,
} from '@nats-io/jetstream';
import { type NatsConnection, headers as natsHeaders } from '@nats-io/nats-core';
import { dial } from '../wire/dial.ts';
import { messageFrom, messageOrNone } from '../wire/jetstream-api.ts';
import { fromNats, isMissing } from '../wire/nats-errors.ts';
import { catchUp, isFiller } from '../work/catch-up.ts';
import { consumersOf } from '../work/consumers-of.ts';
import { removeLostPayloads } from './lost-payloads.ts';
import type { OperatorOptions } from './stored-cards.ts';

/** The figures of one work queue. */
export interface QueueFigures {
  kind: QueueKind;
  /** The agent or tool, as its consumer is named. */
  consumer: string;
  /** The number of stored messages that were delivered, or passed by, at least once. */
  kept: number;
  /** The number of messages that wait for their first delivery. */
  waiting: number;
  /** The number of deliveries for which the server expects an acknowledgement. */
  ackPending: number;
  /**
   * The number of ghosts: stored messages that the server will not deliver. While acknowledgements are expected
   * there may be more of them.
   */
  ghosts: number;
}

/** The result of the sweep of one work queue. */
export interface SweptQueue {
  kind: QueueKind;
  consumer: string;
  /** The number of ghosts whose work is done: they were removed. */
  removed: number;
  /** The number of ghosts whose work was never begun: they were put into the queue again. */
  requeued: number;
  /** The number of ghosts that were left, because it is not clear whether their work is done. */
  unclear: number;
  /** The number of expected acknowledgements of messages that are gone: phantoms that were dropped. */
  phantoms: number;
  /** The numbers by which the stream was behind the queue; it has caught up. Until then it delivered nothing. */
  behind: number;
}

/** A message that the server keeps and will not deliver. */
export interface Ghost {
  kind: QueueKind;
  subject: string;
  /** The number of the message in its stream. */
  seq: number;
  /** The time since the message was stored, in ms. */
  ageMs: number;
  /** The payload; empty when it lies outside the message because it is large. */
  bytes: Uint8Array;
}

/** The judgement of a ghost. */
export type GhostVerdict = 'removed' | 'requeued' | 'unclear';

/** The work streams of a mesh, for an operator. */
export interface WorkStreams extends AsyncDisposable {
  list(): Promise<QueueFigures[]>;
  /**
   * Drops phantoms, and treats each ghost as judged. The server alone cannot tell whether the work of a ghost is
   * done: a server that was killed may begin its numbers anew, and then takes new messages for old ones.
   */
  sweep(judge: (ghost: Ghost) => Promise<GhostVerdict>): Promise<SweptQueue[]>;
  /**
   * Removes the large payloads of work to which no message and no dead letter leads, and returns their number. A
   * process leaves one when it dies after it stored the payload and before it sent the message, or after the
   * acknowledgement and before the removal.
   *
   * @param olderThanMs the age from which a payload without a message is lost; default 10 minutes. A younger one
   * may be on its way
   */
  removeLostPayloads(olderThanMs?: number): Promise<number>;
}

const kinds: QueueKind[] = ['run', 'operation', 'job'];
/** The longest wait for a moment in which a queue expects no acknowledgement, in ms. */
const quietMs = 2_000;
const lookAgainMs = 25;
/** The number of acknowledgements that are sent before the server is asked for its figures. */
const batchSize = 1_000;
/** No message follows its payload so late, in ms. */
const lostPayloadMs = 600_000;

/**
 * Opens the work streams, as a user that may administer JetStream.
 *
 * @throws MeshError `unavailable` when nothing answers; `unauthenticated` for the credentials
 */
export async function openWorkStreams(options: OperatorOptions): Promise<WorkStreams> {
  const names = subjects(options.namespace);
  const connection = await dial(options, 'streams', names.inboxPrefix('provision'), options.connectTimeoutMs);
  try {
    const manager = await jetstreamManager(connection);
    return {
      list: () => inEachStream(names, (kind) => listStream(manager, names, kind)),
      sweep: (judge) =>
        inEachStream(names, (kind) => sweepStream({ connection, manager, names, kind, judge })),
      removeLostPayloads: (olderThanMs = lostPayloadMs) => removeLostPayloads(manager, names, olderThanMs),
      [Symbol.asyncDispose]: () => connection.close(),
    };
  } catch (thrown) {
    await connection.close();
    throw fromNats(thrown, 'work streams');
  }
}

async function inEachStream<T>(names: Subjects, work: (kind: QueueKind) => Promise<T[]>): Promise<T[]> {
  const results: T[] = [];
  for (const kind of kinds) {
    try {
      results.push(...(await work(kind)));
    } catch (thrown) {
      if (!isMissing(thrown)) throw fromNats(thrown, `stream ${names.workStream(kind)}`);
    }
  }
  return results;
}

async function listStream(
  manager: JetStreamManager,
  names: Subjects,
  kind: QueueKind,
): Promise<QueueFigures[]> {
  const stream = names.workStream(kind);
  const figures: QueueFigures[] = [];
  for (const info of await consumersOf(manager, stream)) {
    const stored = await storedMessages(manager, stream, filterOf(info), info.delivered.stream_seq);
    figures.push({
      kind,
      consumer: info.name,
      kept: stored.length,
      waiting: info.num_pending,
      ackPending: info.num_ack_pending,
      ghosts: stored.filter((seq) => seq <= acknowledgedUpTo(info)).length,
    });
  }
  return figures;
}

interface Sweep {
  connection: NatsConnection;
  manager: JetStreamManager;
  names: Subjects;
  kind: QueueKind;
  judge: (ghost: Ghost) => Promise<GhostVerdict>;
}

async function sweepStream(sweep: Sweep): Promise<SweptQueue[]> {
  const { manager, names, kind } = sweep;
  const stream = names.workStream(kind);
  const swept: SweptQueue[] = [];
  for (const { name } of await consumersOf(manager, stream)) {
    const phantoms = await dropPhantoms(sweep, name);
    const { connection } = sweep;
    const behind = await catchUp({ connection, manager, stream, consumer: name });
    swept.push({ kind, consumer: name, ...(await treatGhosts(sweep, name)), phantoms, behind });
  }
  return swept;
}

/**
 * Returns the number up to which the server counts all messages of a consumer as acknowledged, and delivers
 * none of them. When no acknowledgement is expected, these are all delivered messages; the ack floor may be
 * lower.
 */
function acknowledgedUpTo({ num_ack_pending, ack_floor, delivered }: ConsumerInfo): number {
  return num_ack_pending === 0 ? delivered.stream_seq : ack_floor.stream_seq;
}

/**
 * Acknowledges the messages that are not in the stream any more: a message leaves a work queue only when it is
 * acknowledged, too old, or removed by an operator, and its number is never used again. Returns the number of
 * acknowledgements that the server expected.
 */
async function dropPhantoms({ connection, manager, names, kind }: Sweep, consumer: string): Promise<number> {
  const stream = names.workStream(kind);
  const { num_ack_pending, ack_floor, delivered } = await manager.consumers.info(stream, consumer);
  if (num_ack_pending === 0) return 0;
  const last = delivered.stream_seq;
  // A message of any consumer: an acknowledgement removes the message of its number, whoever sends it.
  const stored = new Set(await storedMessages(manager, stream, names.workSubject(kind, every), last));
  let sent = 0;
  for (let seq = ack_floor.stream_seq + 1; seq <= last; seq += 1) {
    if (stored.has(seq)) continue;
    connection.publish(`$JS.ACK.${stream}.${consumer}.1.${seq}.0.0.0`, '+ACK');
    sent += 1;
    if (sent % batchSize === 0) await connection.flush();
  }
  await connection.flush();
  const after = await manager.consumers.info(stream, consumer);
  return Math.max(0, num_ack_pending - after.num_ack_pending);
}

async function treatGhosts(sweep: Sweep, consumer: string): Promise<Record<GhostVerdict, number>> {
  const { manager, names, kind, judge } = sweep;
  const stream = names.workStream(kind);
  const info = await quietInfo(manager, stream, consumer);
  const counts = { removed: 0, requeued: 0, unclear: 0 };
  for (const seq of await storedMessages(manager, stream, filterOf(info), acknowledgedUpTo(info))) {
    const message = await messageOrNone(manager.streams.getMessage(stream, { seq }));
    if (!message) continue;
    if (isFiller(message.subject)) {
      await manager.streams.deleteMessage(stream, seq, false);
      continue;
    }
    const ageMs = meshTime() - message.time.getTime();
    const verdict = await judge({ kind, subject: message.subject, seq, ageMs, bytes: message.data });
    counts[verdict] += 1;
    if (verdict === 'unclear') continue;
    if (verdict === 'requeued') await publishAgain(sweep.connection, message);
    // `false`: the bytes need not be overwritten.
    await manager.streams.deleteMessage(stream, seq, false);
  }
  return counts;
}

/** Publishes a stored message once more. Its id keeps a second sweep from making another copy. */
async function publishAgain(connection: NatsConnection, message: StoredMsg): Promise<void> {
  const headers = natsHeaders();
  for (const [name, values] of message.header) for (const value of values) headers.append(name, value);
  headers.set(header.messageId, `again:${message.timestamp}:${message.seq}`);
  await jetstream(connection).publish(message.subject, message.data, { headers });
}

/** Reads the figures of a consumer, if possible at a moment in which it expects no acknowledgement. */
async function quietInfo(manager: JetStreamManager, stream: string, consumer: string): Promise<ConsumerInfo> {
  const until = performance.now() + quietMs;
  for (;;) {
    const info = await manager.consumers.info(stream, consumer);
    if (info.num_ack_pending === 0 || performance.now() > until) return info;
    await delay(lookAgainMs);
  }
}

/** Returns the numbers of the stored messages with this subject, which may hold wildcards, up to `last`. */
async function storedMessages(
  manager: JetStreamManager,
  stream: string,
  subject: string,
  last: number,
): Promise<number[]> {
  const found: number[] = [];
  for (let from = 1; from <= last; ) {
    const message = await messageFrom(manager, { stream, subject, from });
    if (!message || message.seq > last) break;
    found.push(message.seq);
    from = message.seq + 1;
  }
  return found;
}

const filterOf = ({ config }: ConsumerInfo) => config.filter_subject ?? '>';

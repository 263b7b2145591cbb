import {
  type DeadLetter,
  decodeToken,
  every,
  header,
  meshTime,
  type QueueKind,
  type Subjects,
  subjects,
} from '@agentmesh/protocol';
import { type JetStreamManager, jetstream, jetstreamManager, type StoredMsg } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { dial } from '../wire/dial.ts';
import { fromNats, isMissing } from '../wire/nats-errors.ts';
import { consumersOf } from '../work/consumers-of.ts';
import type { OperatorOptions } from './stored-cards.ts';

/**
 * The messages in a work queue that no consumer takes, because no service has the name; most often it is
 * misspelled.
 */
export interface Orphans {
  kind: QueueKind;
  /**
   * The subject as the publisher wrote it. It may hold a literal `*`. For runs its last token, the session,
   * is `*`: the runs of an agent are listed together.
   */
  subject: string;
  count: number;
}

/** A message that no consumer takes. */
export interface OrphanMessage {
  kind: QueueKind;
  subject: string;
  /** The number of the message in its stream. */
  seq: number;
}

/** The messages in work queues that no consumer takes, for an operator. */
export interface OrphanQueues extends AsyncDisposable {
  list(): Promise<Orphans[]>;
  /**
   * Moves the messages of a subject to the dead letters. Returns their number.
   *
   * @param onBuried called with each message after its letter is stored, and before it leaves the queue
   */
  bury(subject: string, onBuried?: (message: OrphanMessage) => Promise<void>): Promise<number>;
}

const kinds: QueueKind[] = ['run', 'operation', 'job'];

/**
 * Opens the messages that no consumer takes, as a user that may administer JetStream.
 *
 * @throws MeshError `unavailable` when nothing answers; `unauthenticated` for the credentials
 */
export async function openOrphans(options: OperatorOptions): Promise<OrphanQueues> {
  const names = subjects(options.namespace);
  const connection = await dial(options, 'orphans', names.inboxPrefix('provision'), options.connectTimeoutMs);
  try {
    return orphanQueues(connection, await jetstreamManager(connection), names);
  } catch (thrown) {
    await connection.close();
    throw fromNats(thrown, 'orphans');
  }
}

function orphanQueues(connection: NatsConnection, manager: JetStreamManager, names: Subjects): OrphanQueues {
  const list = async () =>
    (await Promise.all(kinds.map((kind) => orphansOf(manager, names, kind).catch(unlessMissing)))).flat();
  return {
    list,
    async bury(subject, onBuried) {
      const orphans = (await list()).find((each) => each.subject === subject);
      if (!orphans) return 0;
      const stream = names.workStream(orphans.kind);
      let count = 0;
      for (;;) {
        const message = await firstOf(manager, stream, orphans);
        if (!message) return count;
        await publishLetter(connection, names, orphans.kind, message);
        await onBuried?.({ kind: orphans.kind, subject: message.subject, seq: message.seq });
        await manager.streams.deleteMessage(stream, message.seq, false);
        count += 1;
      }
    },
    [Symbol.asyncDispose]: () => connection.close(),
  };
}

async function orphansOf(manager: JetStreamManager, names: Subjects, kind: QueueKind): Promise<Orphans[]> {
  const stream = names.workStream(kind);
  const consumers = await consumersOf(manager, stream);
  const filters = consumers.map(({ config }) => config.filter_subject ?? '');
  const { state } = await manager.streams.info(stream, { subjects_filter: names.workSubject(kind, every) });
  const counts = new Map<string, number>();
  for (const [subject, count] of Object.entries(state.subjects ?? {})) {
    if (filters.some((filter) => covers(filter, subject))) continue;
    const listed = listedAs(kind, subject);
    counts.set(listed, (counts.get(listed) ?? 0) + count);
  }
  return [...counts].map(([subject, count]) => ({ kind, subject, count }));
}

/** Returns the subject under which a message is listed. */
function listedAs(kind: QueueKind, subject: string): string {
  return kind === 'run' ? subject.replace(/\.[^.]*$/, '.*') : subject;
}

/**
 * Tells whether a filter covers a subject. Filters of our consumers are subjects, or end with tokens `*`; a
 * published subject may hold a literal `*`.
 */
function covers(filter: string, subject: string): boolean {
  if (filter === subject) return !subject.includes('*');
  const start = filter.replace(/(?:\.\*)+$/, '.');
  return start !== filter && subject.startsWith(start);
}

async function firstOf(
  manager: JetStreamManager,
  stream: string,
  { kind, subject }: Orphans,
): Promise<StoredMsg | undefined> {
  const { state } = await manager.streams.info(stream);
  for (let seq = state.first_seq; seq <= state.last_seq; seq += 1) {
    const message = await manager.streams.getMessage(stream, { seq }).catch(() => null);
    if (message && listedAs(kind, message.subject) === subject) return message;
  }
  return undefined;
}

/**
 * Publishes a dead letter, in the operator's name: no service may write there. Its id keeps a second attempt from making a
 * second letter.
 */
async function publishLetter(
  connection: NatsConnection,
  names: Subjects,
  kind: QueueKind,
  message: StoredMsg,
): Promise<void> {
  const letter: DeadLetter = {
    subject: message.subject,
    payload: payloadOf(message),
    headers: Object.fromEntries([...message.header].map(([name, values]) => [name, values[0] ?? ''])),
    error: { code: 'not_found', message: 'no service of this name took it; an operator buried it' },
    attempts: 0,
    replica: 'operator',
    time: meshTime(),
  };
  const subject = names.dead('operator', nameIn(message.subject));
  await jetstream(connection).publish(subject, JSON.stringify(letter), {
    msgID: `orphan:${message.header.get(header.messageId) || `${kind}:${message.seq}`}`,
  });
}

/** Returns the name of the agent or tool in a work subject: its fourth token. */
function nameIn(subject: string): string {
  const token = subject.split('.')[3] ?? '';
  try {
    return decodeToken(token);
  } catch {
    return token;
  }
}

function payloadOf(message: StoredMsg): unknown {
  try {
    return message.json();
  } catch {
    return message.string();
  }
}

function unlessMissing(thrown: unknown): Orphans[] {
  if (isMissing(thrown)) return [];
  throw fromNats(thrown, 'orphans');
}

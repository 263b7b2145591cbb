import {
  type DeadLetter,
  deadLetterSchema,
  MeshError,
  parse,
  type Subjects,
  subjects,
} from '@agentmesh/protocol';
import {
  JetStreamApiError,
  type JetStreamManager,
  jetstreamManager,
  type StoredMsg,
} from '@nats-io/jetstream';
import { dial } from '../wire/dial.ts';
import { fromNats, isMissing, provisionHint } from '../wire/nats-errors.ts';
import type { OperatorOptions } from './stored-cards.ts';

/** A dead letter with its number in the stream. */
export interface StoredDeadLetter {
  seq: number;
  letter: DeadLetter;
}

/** The dead letters of a mesh, for an operator to look at and to remove. */
export interface DeadLetters extends AsyncDisposable {
  /** Lists the letters after `afterSeq`, oldest first, `limit` at most (default 50). */
  list(options?: { afterSeq?: number; limit?: number }): Promise<StoredDeadLetter[]>;
  /** Returns the letter with this number. @throws MeshError `not_found` */
  get(seq: number): Promise<StoredDeadLetter>;
  /** Removes the letter with this number. @throws MeshError `not_found` */
  remove(seq: number): Promise<void>;
}

/**
 * Opens the dead letters of a mesh, as a user that may administer JetStream.
 *
 * @throws MeshError `unavailable` when nothing answers; `unauthenticated` for the credentials
 */
export async function openDeadLetters(options: OperatorOptions): Promise<DeadLetters> {
  const names = subjects(options.namespace);
  const inboxPrefix = names.inboxPrefix('provision');
  const connection = await dial(options, 'dead-letters', inboxPrefix, options.connectTimeoutMs);
  try {
    return deadLetters(await jetstreamManager(connection), names, () => connection.close());
  } catch (thrown) {
    await connection.close();
    throw fromNats(thrown, 'dead letters');
  }
}

function deadLetters(
  { streams }: JetStreamManager,
  { deadStream }: Subjects,
  close: () => Promise<void>,
): DeadLetters {
  const read = async (seq: number): Promise<StoredDeadLetter | undefined> => {
    const message = await orUndefined(streams.getMessage(deadStream, { seq }));
    return message && toLetter(message);
  };
  const bounds = async () => {
    const info = await orUndefined(streams.info(deadStream));
    if (!info)
      throw new MeshError('failed_precondition', `there is no stream ${deadStream}; ${provisionHint}`);
    return { first: info.state.first_seq, last: info.state.last_seq };
  };
  return {
    async list({ afterSeq = 0, limit = 50 } = {}) {
      const { first, last } = await bounds();
      const letters: StoredDeadLetter[] = [];
      for (let seq = Math.max(first, afterSeq + 1); seq <= last && letters.length < limit; seq += 1) {
        const letter = await read(seq);
        if (letter) letters.push(letter);
      }
      return letters;
    },
    async get(seq) {
      const letter = await read(seq);
      if (letter) return letter;
      throw noLetter(seq);
    },
    async remove(seq) {
      // The server words the removal of a number without a message in several ways.
      const message = await orUndefined(streams.getMessage(deadStream, { seq }));
      if (!message || !(await orUndefined(streams.deleteMessage(deadStream, seq)))) throw noLetter(seq);
    },
    [Symbol.asyncDispose]: close,
  };
}

function toLetter(message: StoredMsg): StoredDeadLetter {
  const { seq } = message;
  return { seq, letter: parse(deadLetterSchema, message.json(), `dead letter ${seq}`) };
}

const noLetter = (seq: number) =>
  new MeshError('not_found', `there is no dead letter ${seq}; list them to see which there are`);

/** The error code of JetStream for a number without a message: removed, or never stored. */
const noMessageCode = 10037;

async function orUndefined<T>(request: Promise<T | null>): Promise<T | undefined> {
  try {
    return (await request) ?? undefined;
  } catch (thrown) {
    const isGone = thrown instanceof JetStreamApiError && [noMessageCode, 10043].includes(thrown.code);
    if (isGone || isMissing(thrown)) return undefined;
    throw fromNats(thrown, 'dead letters');
  }
}

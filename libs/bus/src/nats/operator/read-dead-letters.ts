import { deadLetterSchema, MeshError, parse, type Subjects } from '@agentmesh/protocol';
import { JetStreamApiError, type JetStreamManager, type StoredMsg } from '@nats-io/jetstream';
import { messageFrom } from '../wire/jetstream-api.ts';
import { fromNats, isMissing, provisionHint } from '../wire/nats-errors.ts';
import type { DeadLetters, StoredDeadLetter } from './stored-dead-letters.ts';

/** Returns the dead letters on a connection that may read and remove messages of their stream. */
export function readDeadLetters(
  manager: JetStreamManager,
  { deadStream }: Subjects,
): Omit<DeadLetters, keyof AsyncDisposable> {
  const { streams } = manager;
  const read = async (seq: number): Promise<StoredDeadLetter | undefined> => {
    const message = await orUndefined(streams.getMessage(deadStream, { seq }));
    return message && toLetter(message);
  };
  const info = async () => {
    const found = await orUndefined(streams.info(deadStream));
    if (found) return found;
    throw new MeshError('failed_precondition', `there is no stream ${deadStream}; ${provisionHint}`);
  };
  return {
    async list({ afterSeq = 0, limit = 50 } = {}) {
      await info();
      const letters: StoredDeadLetter[] = [];
      for (let from = afterSeq + 1; letters.length < limit; ) {
        const place = { stream: deadStream, subject: '>', from };
        const message = await orUndefined(messageFrom(manager, place).then((found) => found ?? null));
        if (!message) break;
        letters.push(toLetter(message));
        from = message.seq + 1;
      }
      return letters;
    },
    count: async () => (await info()).state.messages,
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
  };
}

/** Reads a letter. One that cannot be read must not hide the others, so it is shown as it is. */
function toLetter(message: StoredMsg): StoredDeadLetter {
  const { seq } = message;
  try {
    return { seq, letter: parse(deadLetterSchema, message.json(), `dead letter ${seq}`) };
  } catch (thrown) {
    const error = {
      code: 'invalid_argument',
      message: `it cannot be read: ${MeshError.from(thrown).message}`,
    };
    const { subject, time } = message;
    const letter = { subject, payload: message.string(), headers: {}, error, attempts: 0, replica: '' };
    return { seq, letter: { ...letter, time: time.getTime() } };
  }
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

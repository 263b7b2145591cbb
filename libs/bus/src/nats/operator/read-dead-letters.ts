import { deadLetterSchema, decodeToken, MeshError, parse, type Subjects } from '@agentmesh/protocol';
import { JetStreamApiError, type JetStreamManager, type StoredMsg } from '@nats-io/jetstream';
import { messageFrom } from '../wire/jetstream-api.ts';
import { fromNats, isMissing, provisionHint } from '../wire/nats-errors.ts';
import type { DeadLetters, LetterWriter, StoredDeadLetter } from './stored-dead-letters.ts';

/** Returns the dead letters on a connection that may read and remove messages of their stream. */
export function readDeadLetters(
  manager: JetStreamManager,
  names: Subjects,
): Omit<DeadLetters, keyof AsyncDisposable> {
  const { streams } = manager;
  const { deadStream } = names;
  const read = async (seq: number): Promise<StoredDeadLetter | undefined> => {
    const message = await orUndefined(streams.getMessage(deadStream, { seq }));
    return message && toLetter(names, message);
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
        letters.push(toLetter(names, message));
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
      const find = () => orUndefined(streams.getMessage(deadStream, { seq }));
      if (!(await find())) throw noLetter(seq);
      const isRemoved = await orUndefined(streams.deleteMessage(deadStream, seq)).catch(async (error) => {
        // The server words the removal of a number without a message in several ways.
        if (await find()) throw error;
        return false;
      });
      // Another operator was faster.
      if (!isRemoved) throw noLetter(seq);
    },
  };
}

/** Reads a letter. One that cannot be read must not hide the others, so it is shown as it is. */
function toLetter(names: Subjects, message: StoredMsg): StoredDeadLetter {
  const { seq } = message;
  const writer = writerOf(message.subject);
  try {
    const letter = parse(deadLetterSchema, message.json(), `dead letter ${seq}`);
    return { seq, writer, isForeign: !isOfQueueOf(names, writer, letter.subject), letter };
  } catch (thrown) {
    const error = {
      code: 'invalid_argument',
      message: `it cannot be read: ${MeshError.from(thrown).message}`,
    };
    const { subject, time } = message;
    const letter = { subject, payload: message.string(), headers: {}, error, attempts: 0, replica: '' };
    return { seq, writer, isForeign: false, letter: { ...letter, time: time.getTime() } };
  }
}

/** Reads the writer in the last tokens of the subject of a letter, to which only the writer's account may publish. */
function writerOf(subject: string): LetterWriter {
  const [kind, token = ''] = subject.split('.').slice(-2);
  return { kind: kind === 'agent' || kind === 'tool' ? kind : 'operator', name: nameOf(token) };
}

/** Decodes a name. In a mesh without accounts anybody may publish under a token that is no name. */
function nameOf(token: string): string {
  try {
    return decodeToken(token);
  } catch {
    return token;
  }
}

/** Tells whether a message is of a queue of the writer. The operator buries messages of any queue. */
function isOfQueueOf(names: Subjects, { kind, name }: LetterWriter, subject: string): boolean {
  if (kind === 'operator') return true;
  if (kind === 'tool') return subject === names.toolJob(name);
  const patterns = [names.workSubject('run', name), names.workSubject('operation', name)];
  return patterns.some((pattern) => isIn(pattern.split('.'), subject.split('.')));
}

const isIn = (pattern: string[], tokens: string[]) =>
  pattern.length === tokens.length && pattern.every((want, at) => want === '*' || want === tokens[at]);

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

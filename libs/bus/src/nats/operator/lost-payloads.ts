import { type DeadLetter, every, header, meshTime, type Subjects } from '@agentmesh/protocol';
import type { JetStreamManager, StoredMsg } from '@nats-io/jetstream';
import { objectSubjects } from '../buckets/object-reader.ts';
import { messageFrom, messageOrNone } from '../wire/jetstream-api.ts';

/** Removes large payloads of work to which nothing leads. See `WorkStreams.removeLostPayloads`. */
export async function removeLostPayloads(
  manager: JetStreamManager,
  names: Subjects,
  olderThanMs: number,
): Promise<number> {
  const bucket = names.claimBucket('work');
  const stream = `OBJ_${bucket}`;
  const { info, chunks } = objectSubjects(bucket);
  // The payloads are listed before the messages: a payload whose message is sent in between is still young.
  const old = await oldPayloads(manager, bucket, olderThanMs);
  if (old.size === 0) return 0;
  for await (const id of usedPayloads(manager, names)) old.delete(id);
  for (const id of old) {
    await manager.streams.purge(stream, { filter: info(id) });
    await manager.streams.purge(stream, { filter: chunks(id) });
  }
  return old.size;
}

/** Lists the payloads whose last piece is at least so old. */
async function oldPayloads(
  manager: JetStreamManager,
  bucket: string,
  olderThanMs: number,
): Promise<Set<string>> {
  const stream = `OBJ_${bucket}`;
  const { chunks } = objectSubjects(bucket);
  const { state } = await manager.streams.info(stream, { subjects_filter: chunks('*') });
  const old = new Set<string>();
  for (const subject of Object.keys(state.subjects ?? {})) {
    const last = await messageOrNone(manager.streams.getMessage(stream, { last_by_subj: subject }));
    const id = subject.split('.').at(-1);
    if (last && id !== undefined && meshTime() - last.time.getTime() >= olderThanMs) old.add(id);
  }
  return old;
}

/** Yields the ids of the payloads that commands, updates, jobs and dead letters name. */
async function* usedPayloads(manager: JetStreamManager, names: Subjects): AsyncGenerator<string> {
  for (const kind of ['run', 'operation', 'job'] as const)
    for await (const message of messagesOf(manager, names.workStream(kind), names.workSubject(kind, every)))
      yield* idIn(message.header.get(header.claim));
  for (const writer of ['agent', 'tool', 'operator'] as const)
    for await (const message of messagesOf(manager, names.deadStream, names.dead(writer, every))) {
      yield* idIn(message.header.get(header.claim));
      // The letter of an operator has the headers of the message, and no payload.
      yield* idIn(headersOfLetter(message)[header.claim]);
    }
}

async function* messagesOf(
  manager: JetStreamManager,
  stream: string,
  subject: string,
): AsyncGenerator<StoredMsg> {
  for (let from = 1; ; ) {
    const message = await messageFrom(manager, { stream, subject, from });
    if (!message) return;
    yield message;
    from = message.seq + 1;
  }
}

function* idIn(claim = ''): Generator<string> {
  const [, id] = claim.split('.');
  if (id !== undefined) yield id;
}

function headersOfLetter(message: StoredMsg): Record<string, string> {
  try {
    return message.json<DeadLetter>().headers ?? {};
  } catch {
    return {};
  }
}

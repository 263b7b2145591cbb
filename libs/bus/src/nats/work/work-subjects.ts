import { every, MeshError, type QueueKind, type QueueName, type Subjects } from '@agentmesh/protocol';
import type { JetStreamManager } from '@nats-io/jetstream';
import { isMissing, isNoSubset } from '../wire/nats-errors.ts';
import { consumersOf } from './consumers-of.ts';
import { putConsumer } from './work-consumer.ts';

/** The number of tries while other steps change the same stream. */
const maxTries = 50;

/** A work stream, and the API by which it is changed. */
export interface WorkStreamPlace {
  manager: JetStreamManager;
  names: Subjects;
  kind: QueueKind;
}

/**
 * Returns the subjects of a work stream: those of the queues that it has, and of the queues `added`. A message for
 * any other name is refused when it is published.
 */
export async function workSubjects(
  { manager, names, kind }: WorkStreamPlace,
  added: readonly string[] = [],
): Promise<string[]> {
  const stream = names.workStream(kind);
  const found = new Set(added);
  try {
    for (const { config } of await consumersOf(manager, stream))
      if (config.durable_name !== undefined && config.filter_subject) found.add(config.filter_subject);
  } catch (thrown) {
    if (!isMissing(thrown)) throw thrown;
  }
  // A stream has at least one subject: without any it gets its own name.
  return found.size === 0 ? [stream] : [...found].sort();
}

/** Makes or updates queues of a kind, and lets the stream take their messages. @throws the client's errors */
export async function putQueues(
  place: WorkStreamPlace,
  added: readonly string[],
  ackWaitMs: number,
): Promise<void> {
  const { manager, names, kind } = place;
  const add = added.map((name) => names.workSubject(kind, name));
  const put = async (queue: QueueName) => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await putConsumer(manager, names, queue, ackWaitMs);
      } catch (thrown) {
        // Another step has written the subjects that it read before.
        if (!isNoSubset(thrown) || tries === maxTries) throw thrown;
        await changeSubjects(place, { add });
      }
    }
  };
  await changeSubjects(place, { add });
  for (const name of added) await put({ kind, name });
  await changeSubjects(place, {});
}

/** Lets a work stream take no more messages of a queue that was removed. @throws the client's errors */
export async function dropSubject(place: WorkStreamPlace, name: string): Promise<void> {
  await changeSubjects(place, { drop: place.names.workSubject(place.kind, name) });
}

/**
 * Adds subjects to a work stream, or drops one; the subjects of all queues are among them afterwards. JetStream has no
 * conditional change, and another step may have written in between, so this looks again until nothing is left to change.
 */
async function changeSubjects(
  place: WorkStreamPlace,
  { add = [], drop }: { add?: readonly string[]; drop?: string },
): Promise<void> {
  const { manager, names, kind } = place;
  const stream = names.workStream(kind);
  // The subject of a stream of an earlier release, and that of a stream without queues.
  const general = [names.workSubject(kind, every), stream];
  for (let tries = 0; tries < maxTries; tries += 1) {
    const { config } = await manager.streams.info(stream);
    const kept = config.subjects.filter((each) => each !== drop && !general.includes(each));
    const wanted = await workSubjects(place, [...kept, ...add]);
    const there = new Set(config.subjects);
    if (there.size === wanted.length && wanted.every((each) => there.has(each))) return;
    await manager.streams.update(stream, { subjects: wanted });
  }
  throw new MeshError('unavailable', `other steps change the queues of ${stream} all the time; try again`);
}

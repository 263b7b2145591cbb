import { subjects } from '@agentmesh/protocol';
import { jetstreamManager } from '@nats-io/jetstream';
import { dial } from '../wire/dial.ts';
import { fromNats } from '../wire/nats-errors.ts';
import { readDeadLetters } from './read-dead-letters.ts';
import type { OperatorOptions } from './stored-cards.ts';
import type { DeadLetters } from './stored-dead-letters.ts';

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
    const letters = readDeadLetters(await jetstreamManager(connection), names);
    return { ...letters, [Symbol.asyncDispose]: () => connection.close() };
  } catch (thrown) {
    await connection.close();
    throw fromNats(thrown, 'dead letters');
  }
}

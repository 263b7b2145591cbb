import type { JetStreamManager, StreamConfig } from '@nats-io/jetstream';
import { isTaken } from '../wire/nats-errors.ts';

/** The time within which a repeated message id is a duplicate, in ms; the default of nats-server. */
export const duplicateWindowMs = 120_000;

/** Makes a stream, or gives the stream of this name these settings. */
export async function putStream(
  manager: JetStreamManager,
  config: Partial<StreamConfig> & { name: string },
): Promise<void> {
  try {
    await manager.streams.add(config);
  } catch (thrown) {
    if (!isTaken(thrown)) throw thrown;
    await manager.streams.update(config.name, config);
  }
}

import { type QueueName, subjects } from '@agentmesh/protocol';
import { jetstreamManager } from '@nats-io/jetstream';
import { dial } from '../wire/dial.ts';
import { fromNats, isMissing } from '../wire/nats-errors.ts';
import { defaultAckWaitMs } from '../work/work-consumer.ts';
import { dropSubject, putQueues } from '../work/work-subjects.ts';
import type { OperatorOptions } from './stored-cards.ts';

/** The queues of services that join and leave a provisioned mesh. */
export interface ServiceQueues extends AsyncDisposable {
  /**
   * Makes a queue, and leaves a queue that exists as it is.
   *
   * @throws MeshError `failed_precondition` when the streams are missing
   */
  add(queue: QueueName): Promise<void>;
  /** Removes a queue. Its messages stay as orphans, and further ones are refused. Returns their number. */
  remove(queue: QueueName): Promise<number>;
}

/** Opens the queues of a mesh. @throws MeshError `unavailable`, `unauthenticated` */
export async function openQueues(options: OperatorOptions): Promise<ServiceQueues> {
  const names = subjects(options.namespace);
  const inboxPrefix = names.inboxPrefix('provision');
  const connection = await dial(options, 'queues', inboxPrefix, options.connectTimeoutMs);
  const manager = await jetstreamManager(connection).catch(async (thrown: unknown) => {
    await connection.close();
    throw fromNats(thrown, 'open the queues');
  });
  const find = async ({ kind, name }: QueueName) => {
    try {
      return await manager.consumers.info(names.workStream(kind), names.workConsumer(name));
    } catch (thrown) {
      if (isMissing(thrown)) return undefined;
      throw fromNats(thrown, `look for the queue of ${name}`);
    }
  };
  return {
    async add(queue) {
      if (await find(queue)) return;
      const { kind, name } = queue;
      await putQueues({ manager, names, kind }, [name], defaultAckWaitMs).catch((thrown: unknown) => {
        throw fromNats(thrown, `make the queue of ${name}`);
      });
    },
    async remove(queue) {
      const found = await find(queue);
      if (!found) return 0;
      try {
        await manager.consumers.delete(found.stream_name, found.name);
        await dropSubject({ manager, names, kind: queue.kind }, queue.name);
      } catch (thrown) {
        throw fromNats(thrown, `remove the queue of ${queue.name}`);
      }
      return found.num_pending + found.num_ack_pending;
    },
    [Symbol.asyncDispose]: () => connection.close(),
  };
}

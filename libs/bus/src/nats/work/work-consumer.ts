import type { QueueName, Subjects } from '@agentmesh/protocol';
import { AckPolicy, DeliverPolicy, type JetStreamManager, ReplayPolicy } from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import { isTaken } from '../wire/nats-errors.ts';

/**
 * The ack wait, in ms. A worker gives three signs of life in this time; the queue notices a dead process
 * within it.
 */
export const defaultAckWaitMs = 1_500;

/** No limit: replicas ask for no more than they have free slots for. */
const maxAckPending = -1;
/**
 * The number of pull requests that may wait at once: one per replica with a free slot. It cannot be changed
 * later.
 */
const maxWaiting = 4_096;

/** Makes or updates the durable consumer of a queue. @throws the client's errors */
export async function putConsumer(
  manager: JetStreamManager,
  names: Subjects,
  queue: QueueName,
  ackWaitMs: number,
): Promise<void> {
  const stream = names.workStream(queue.kind);
  const name = names.workConsumer(queue.name);
  const limits = {
    ack_wait: nanos(ackWaitMs),
    max_ack_pending: maxAckPending,
    max_deliver: -1,
    filter_subject: names.workSubject(queue.kind, queue.name),
  };
  try {
    await manager.consumers.add(stream, {
      ...limits,
      durable_name: name,
      ack_policy: AckPolicy.Explicit,
      deliver_policy: DeliverPolicy.All,
      replay_policy: ReplayPolicy.Instant,
      max_waiting: maxWaiting,
    });
  } catch (thrown) {
    if (!isTaken(thrown)) throw thrown;
    await manager.consumers.update(stream, name, limits);
  }
}

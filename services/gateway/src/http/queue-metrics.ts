import type { MeshObserver, ObservedQueue } from '@agentmesh/bus';
import type { ConnectedMesh } from '@agentmesh/mesh';
import { meshTime } from '@agentmesh/protocol';
import type { Logger } from '@agentmesh/service';
import { type BatchObservableResult, metrics } from '@opentelemetry/api';
import { inTime } from './in-time.ts';

interface QueueMetrics {
  mesh: Pick<ConnectedMesh, 'bus' | 'subjects'>;
  observer: () => Promise<MeshObserver>;
  log: Logger;
}

/**
 * Shows the queues and the dead letters of the mesh among the metrics of this process, at each look. Every gateway
 * shows the same figures. When NATS does not tell them in time, they are left out. Ends when it is disposed.
 */
export function showQueues({ mesh, observer, log }: QueueMetrics): Disposable {
  const meter = metrics.getMeter('agentmesh');
  const messages = meter.createObservableGauge('agentmesh.queue.messages', {
    description: 'Messages in the queue of an agent or a tool, before their first delivery or at work',
  });
  const age = meter.createObservableGauge('agentmesh.queue.oldest.age', {
    unit: 's',
    description: 'Age of the oldest message of a queue without an acknowledgement',
  });
  const deadLetters = meter.createObservableGauge('agentmesh.dead.letters', {
    description: 'Dead letters that are kept',
  });
  const instruments = [messages, age, deadLetters];
  const look = async (result: BatchObservableResult) => {
    try {
      const [queues, letters] = await inTime(lookAt(await observer()));
      result.observe(deadLetters, letters);
      for (const queue of queues) {
        const about = { kind: queue.kind, name: nameOf(mesh, queue) };
        result.observe(messages, queue.waiting, { ...about, state: 'waiting' });
        result.observe(messages, queue.working, { ...about, state: 'working' });
        const seconds = ageOf(queue);
        if (seconds !== undefined) result.observe(age, seconds, about);
      }
    } catch (error) {
      log.debug({ err: error }, 'the metrics lack the figures of the queues');
    }
  };
  meter.addBatchObservableCallback(look, instruments);
  return { [Symbol.dispose]: () => meter.removeBatchObservableCallback(look, instruments) };
}

/** Returns the age of the oldest message, in s; 0 for an empty queue, undefined where the observer does not look. */
function ageOf({ kind, waiting, working, oldest }: ObservedQueue): number | undefined {
  if (oldest !== undefined) return Math.max(0, meshTime() - oldest) / 1_000;
  return kind !== 'operation' && waiting + working === 0 ? 0 : undefined;
}

const lookAt = (view: MeshObserver) => Promise.all([view.queues(), view.deadLetters.count()]);

/** Returns the name of the service whose consumer this is; the name of the consumer when no card has it. */
function nameOf({ bus, subjects }: QueueMetrics['mesh'], { kind, consumer }: ObservedQueue): string {
  const cards = bus.directory.list(kind === 'job' ? 'tool' : 'agent');
  return cards.find(({ name }) => subjects.workConsumer(name) === consumer)?.name ?? consumer;
}

import { type QueueKind, type Subjects, subjects } from '@agentmesh/protocol';
import { type ConsumerInfo, type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { dial } from '../wire/dial.ts';
import { messageFrom } from '../wire/jetstream-api.ts';
import { fromNats, isMissing } from '../wire/nats-errors.ts';
import { consumersOf } from '../work/consumers-of.ts';
import { readDeadLetters } from './read-dead-letters.ts';
import { readReplicas } from './read-replicas.ts';
import type { ReplicaStats } from './replica-stats.ts';
import type { OperatorOptions } from './stored-cards.ts';
import type { DeadLetters } from './stored-dead-letters.ts';

/** One work queue, as an observer sees it. */
export interface ObservedQueue {
  kind: QueueKind;
  /** The agent or tool, as its consumer is named. */
  consumer: string;
  /** The number of messages that wait for their first delivery. */
  waiting: number;
  /** The number of deliveries for which the server expects an acknowledgement. */
  working: number;
  /** The number of messages that were delivered more than once and are not acknowledged. */
  redelivered: number;
  /** The time at which the oldest message without an acknowledgement was stored, epoch ms. */
  oldest?: number;
}

/** The view of a mesh for operators, in a service with the rights of a gateway. */
export interface MeshObserver extends AsyncDisposable {
  /** Returns the replicas of a service that answer, with their counters; takes up to a second. */
  replicas(service: string): Promise<ReplicaStats[]>;
  /** Returns the work queues of all services. */
  queues(): Promise<ObservedQueue[]>;
  readonly deadLetters: Omit<DeadLetters, keyof AsyncDisposable>;
}

/** `service`: the service whose rights and inbox are used. */
export interface ObserverOptions extends OperatorOptions {
  service: string;
}

const kinds: QueueKind[] = ['run', 'operation', 'job'];
/** The number of queues whose oldest message is looked up; the age of further ones is left out. */
const mostAges = 200;

/**
 * Opens a view of the mesh with the credentials of a service. It needs no right to make or to use consumers.
 *
 * @throws MeshError `unavailable` when nothing answers; `unauthenticated` for the credentials
 */
export async function openObserver({ service, ...options }: ObserverOptions): Promise<MeshObserver> {
  const names = subjects(options.namespace);
  const inboxPrefix = names.inboxPrefix(service);
  const connection = await dial(options, 'observer', inboxPrefix, options.connectTimeoutMs);
  // The check of the API asks for the account's limits, for which a service has no right.
  const manager = await jetstreamManager(connection, { checkAPI: false });
  return {
    replicas: (name) => readReplicas(connection, names, name),
    async queues() {
      const lists = await Promise.all(kinds.map((kind) => queuesOf(manager, names, kind)));
      const busy = { ages: 0 };
      return await Promise.all(
        lists.flat().map(([kind, info]) => observe({ manager, names, busy }, kind, info)),
      );
    },
    deadLetters: readDeadLetters(manager, names),
    [Symbol.asyncDispose]: () => connection.close(),
  };
}

async function queuesOf(
  manager: JetStreamManager,
  names: Subjects,
  kind: QueueKind,
): Promise<[QueueKind, ConsumerInfo][]> {
  const stream = names.workStream(kind);
  try {
    return (await consumersOf(manager, stream)).map((info) => [kind, info]);
  } catch (thrown) {
    // A mesh without long-running tools has no stream of jobs.
    if (!isMissing(thrown)) throw fromNats(thrown, `stream ${stream}`);
    return [];
  }
}

interface Observing {
  manager: JetStreamManager;
  names: Subjects;
  busy: { ages: number };
}

async function observe(
  { manager, names, busy }: Observing,
  kind: QueueKind,
  info: ConsumerInfo,
): Promise<ObservedQueue> {
  const { name, num_pending, num_ack_pending, num_redelivered, ack_floor, config } = info;
  const queue = {
    ...{ kind, consumer: name, waiting: num_pending },
    ...{ working: num_ack_pending, redelivered: num_redelivered },
  };
  // Updates are short; a service has no right to read those of others.
  if (kind === 'operation' || num_pending + num_ack_pending === 0 || busy.ages >= mostAges) return queue;
  busy.ages += 1;
  const place = {
    stream: names.workStream(kind),
    subject: config.filter_subject ?? '>',
    from: ack_floor.stream_seq + 1,
  };
  const message = await messageFrom(manager, place).catch((thrown: unknown) => {
    throw fromNats(thrown, `read ${place.stream}`);
  });
  return message ? { ...queue, oldest: message.time.getTime() } : queue;
}

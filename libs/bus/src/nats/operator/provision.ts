import {
  assertOptions,
  type ClaimKind,
  every,
  subjects as namesOf,
  type OptionNames,
  type Provisioned,
  parse,
  provisionedSchema,
  type QueueKind,
  type Subjects,
} from '@agentmesh/protocol';
import {
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamManager,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import { type NatsConnection, nanos } from '@nats-io/nats-core';
import { dial } from '../wire/dial.ts';
import { type NatsAddress, natsAddressNames } from '../wire/nats-address.ts';
import { fromNats, isNobodyThere, isTimeout, jetStreamOff } from '../wire/nats-errors.ts';
import { defaultAckWaitMs } from '../work/work-consumer.ts';
import { putQueues, workSubjects } from '../work/work-subjects.ts';
import { putCardBucket } from './put-card-bucket.ts';
import { duplicateWindowMs, putStream } from './put-stream.ts';

export interface ProvisionOptions extends NatsAddress {
  /** Default `mesh`. */
  namespace?: string | undefined;
  /**
   * The names of the agents. Each agent gets a consumer for runs and a consumer for updates of its
   * long-running calls.
   */
  agents: string[];
  /** The names of the tools that take jobs. Each gets a consumer; default none. */
  tools?: string[];
  /**
   * The facts about agents that other services believe, whatever the agents' own cards say. Agents that are
   * left out keep the records that they have. Default none: then the cards are believed.
   */
  services?: readonly Provisioned[];
  /** The number of copies of each stream in a cluster; default 1. */
  replicas?: number;
  /** Default `file`. */
  storage?: 'file' | 'memory';
  /** The silence of a worker after which the queue delivers its item again, in ms; default 1,500. */
  ackWaitMs?: number;
  /** The longest time that a run, an update or a job waits in its queue, in ms; default unlimited. */
  maxAgeMs?: number;
  /** The time limit for the first connection, in ms; default 10,000. */
  connectTimeoutMs?: number;
}

const optionNames: OptionNames<ProvisionOptions> = {
  ...natsAddressNames,
  namespace: true,
  agents: true,
  tools: true,
  services: true,
  replicas: true,
  storage: true,
  ackWaitMs: true,
  maxAgeMs: true,
  connectTimeoutMs: true,
};

const deadLetterAgeMs = 30 * 86_400_000;
/**
 * The number of dead letters of one service. The number of all has no limit: each service has one subject, and a
 * service that writes too many must not remove those of others.
 */
const deadLettersOfService = 20_000;
/** The number of messages of all queues of a kind that may wait. */
const workItems = 1_000_000;
/**
 * The number of messages that may wait under one subject: the runs of one session, the runs of one agent that
 * make their sessions, the updates of one call, and the jobs of one tool.
 */
const workItemsPerSubject: Record<QueueKind, number> = { run: 10_000, operation: 10_000, job: 100_000 };
/**
 * The limits of the stream of security decisions. Those by number are for one service, as for dead letters. There is
 * none in bytes: nats-server would reserve it at once, in each mesh.
 */
const auditAgeMs = 90 * 86_400_000;
const auditRecordsOfService = 200_000;
const auditRecordBytes = 16 * 1024;
/** No limit of a stream. */
const unlimited = -1;
/**
 * The times to live of large payloads that nobody deletes; the receiver of a payload deletes it at once. All
 * listeners have read news by then; work lives as long as a dead letter.
 */
const claimTtlMs: Record<ClaimKind, number> = { news: 2 * 60_000, work: deadLetterAgeMs };

/**
 * Makes or updates the objects in JetStream that the mesh needs: the streams of runs, operations and jobs
 * with a durable consumer for each agent and tool, the dead letters, and the buckets. May run again at any
 * time, with more names; the consumers of names that are left out are not removed. The streams take messages for
 * names with a consumer, and refuse all others.
 *
 * @throws MeshError `failed_precondition` when JetStream is off, `permission_denied` for a user without the
 * right to administer JetStream
 */
export async function provision(options: ProvisionOptions): Promise<void> {
  assertOptions('provision', options ?? null, optionNames);
  const { namespace, agents, tools = [], services = [], storage = 'file', replicas = 1 } = options;
  const { ackWaitMs = defaultAckWaitMs, maxAgeMs = 0 } = options;
  const names = namesOf(namespace);
  const records = services.map((each) => parse(provisionedSchema, each, `the record of agent ${each.name}`));
  // The provisioning user has separate inboxes, like each service.
  const connection = await dial(
    options,
    'provision',
    names.inboxPrefix('provision'),
    options.connectTimeoutMs,
  );
  const storageType = storage === 'file' ? StorageType.File : StorageType.Memory;
  try {
    const manager = await openManager(connection);
    const queues = { run: agents, operation: agents, job: tools };
    const kinds = ['run', 'operation', 'job'] as const;
    for (const kind of kinds) {
      await putWorkStream(manager, names, kind, {
        subjects: await workSubjects(
          { manager, names, kind },
          queues[kind].map((name) => names.workSubject(kind, name)),
        ),
        storage: storageType,
        num_replicas: replicas,
        max_age: nanos(maxAgeMs),
        // The server refuses a window that is longer than the life of messages.
        duplicate_window: nanos(Math.min(duplicateWindowMs, maxAgeMs || duplicateWindowMs)),
      });
    }
    await putDeadStream(manager, names, { storage: storageType, num_replicas: replicas });
    await putAuditStream(manager, names, { storage: storageType, num_replicas: replicas });
    for (const kind of kinds) await putQueues({ manager, names, kind }, queues[kind], ackWaitMs);
    const storing = { storage: storageType, replicas };
    await putCardBucket(manager, names, storing);
    const bucket = await new Kvm(connection).open(names.cardBucket);
    for (const record of records) await bucket.put(names.provisionedKey(record.name), JSON.stringify(record));
    await new Kvm(connection).create(names.artifactBucket, { history: 1, ...storing });
    await putObjectStream(manager, names.artifactBucket, storing);
    for (const [kind, ttlMs] of Object.entries(claimTtlMs) as [ClaimKind, number][])
      await putObjectStream(manager, names.claimBucket(kind), { ...storing, ttlMs });
  } catch (thrown) {
    throw fromNats(thrown, 'provision');
  } finally {
    await connection.close();
  }
}

async function openManager(connection: NatsConnection): Promise<JetStreamManager> {
  try {
    return await jetstreamManager(connection);
  } catch (thrown) {
    if (isNobodyThere(thrown) || isTimeout(thrown) || thrown instanceof JetStreamApiError) {
      throw jetStreamOff(thrown);
    }
    throw thrown;
  }
}

async function putWorkStream(
  manager: JetStreamManager,
  names: Subjects,
  kind: QueueKind,
  limits: Pick<StreamConfig, 'subjects' | 'storage' | 'num_replicas' | 'max_age' | 'duplicate_window'>,
): Promise<void> {
  const config = {
    ...limits,
    name: names.workStream(kind),
    retention: RetentionPolicy.Workqueue,
    // A full queue refuses the next message. Its publisher is told.
    discard: DiscardPolicy.New,
    max_msgs: workItems,
    max_msgs_per_subject: workItemsPerSubject[kind],
    discard_new_per_subject: true,
    // The publisher chooses the subject of the server's acknowledgement, which the server sends with its own
    // rights. Without this, a publisher could empty the stream in this way.
    deny_purge: true,
  };
  await putStream(manager, config);
}

/**
 * Makes or updates the stream of dead letters. Dead letters stay until an operator removes them, or until
 * they are too old. When a service has too many, its oldest go.
 */
async function putDeadStream(
  manager: JetStreamManager,
  names: Subjects,
  limits: Pick<StreamConfig, 'storage' | 'num_replicas'>,
): Promise<void> {
  await putStream(manager, {
    ...limits,
    name: names.deadStream,
    subjects: (['agent', 'tool', 'operator'] as const).map((writer) => names.dead(writer, every)),
    retention: RetentionPolicy.Limits,
    max_age: nanos(deadLetterAgeMs),
    discard: DiscardPolicy.Old,
    max_msgs: unlimited,
    max_msgs_per_subject: deadLettersOfService,
    duplicate_window: nanos(duplicateWindowMs),
    deny_purge: true,
  });
}

/** Makes or updates the stream of security decisions. When a service has too many, its oldest decisions go. */
async function putAuditStream(
  manager: JetStreamManager,
  names: Subjects,
  limits: Pick<StreamConfig, 'storage' | 'num_replicas'>,
): Promise<void> {
  await putStream(manager, {
    ...limits,
    name: names.auditStream,
    subjects: [names.audit(every)],
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.Old,
    max_age: nanos(auditAgeMs),
    max_msgs: unlimited,
    max_msgs_per_subject: auditRecordsOfService,
    max_msg_size: auditRecordBytes,
    duplicate_window: nanos(duplicateWindowMs),
    deny_delete: true,
    deny_purge: true,
  });
}

/** Makes or updates the stream of a bucket as the Object Store of NATS defines it. */
async function putObjectStream(
  manager: JetStreamManager,
  bucket: string,
  { storage, replicas, ttlMs }: { storage: StorageType; replicas: number; ttlMs?: number },
): Promise<void> {
  await putStream(manager, {
    name: `OBJ_${bucket}`,
    subjects: [`$O.${bucket}.C.>`, `$O.${bucket}.M.>`],
    storage,
    num_replicas: replicas,
    max_age: nanos(ttlMs ?? 0),
    discard: DiscardPolicy.New,
    // Each service writes to the buckets of claims. With a rollup, a message could remove all others.
    allow_rollup_hdrs: ttlMs === undefined,
    deny_delete: ttlMs !== undefined,
    allow_direct: true,
    duplicate_window: nanos(duplicateWindowMs),
  });
}

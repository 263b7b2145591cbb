import {
  assertOptions,
  type ClaimKind,
  every,
  subjects as namesOf,
  type OptionNames,
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
import { dial, type NatsAddress, natsAddressNames } from '../wire/dial.ts';
import { fromNats, isNobodyThere, isTaken, isTimeout, jetStreamOff } from '../wire/nats-errors.ts';
import { defaultAckWaitMs, putConsumer } from '../work/work-consumer.ts';

export interface ProvisionOptions extends NatsAddress {
  /** Default `mesh`. */
  namespace?: string | undefined;
  /** Names of the agents that take runs, and updates of their long-running calls: each gets its consumers. */
  agents: string[];
  /** Names of the tools that take jobs: each gets a consumer; default none. */
  tools?: string[];
  /** Copies of streams in a cluster; default 1. */
  replicas?: number;
  /** Default `file`. */
  storage?: 'file' | 'memory';
  /** An item is delivered again when its worker gave no sign of life for so long, in ms; default 3,000. */
  ackWaitMs?: number;
  /** How long a run, an update or a job may wait in its queue, in ms; default for ever. */
  maxAgeMs?: number;
  /** How long the first connection is tried, in ms; default 10,000. */
  connectTimeoutMs?: number;
}

const optionNames: OptionNames<ProvisionOptions> = {
  ...natsAddressNames,
  namespace: true,
  agents: true,
  tools: true,
  replicas: true,
  storage: true,
  ackWaitMs: true,
  maxAgeMs: true,
  connectTimeoutMs: true,
};

/** As Debian's nats-server 2.9 knows it: a repeated message id within this time is a duplicate. */
const duplicateWindowMs = 120_000;
const deadLetterAgeMs = 30 * 86_400_000;
/** What was taken is deleted at once; these are for what nobody takes: news that all have heard by then, work as long as a dead letter. */
const claimTtlMs: Record<ClaimKind, number> = { news: 2 * 60_000, work: deadLetterAgeMs };

/**
 * Makes or updates what the mesh needs in JetStream: the streams of runs, operations and jobs with a durable consumer for each
 * agent and tool, dead letters, the bucket of cards. May be run again at any time, with more names; consumers of names left out stay.
 *
 * @throws MeshError `failed_precondition` when JetStream is off, `permission_denied` for a user without the right to
 * administer it
 */
export async function provision(options: ProvisionOptions): Promise<void> {
  assertOptions('provision', options ?? null, optionNames);
  const { namespace, agents, tools = [], storage = 'file', replicas = 1 } = options;
  const { ackWaitMs = defaultAckWaitMs, maxAgeMs = 0 } = options;
  const names = namesOf(namespace);
  // Inboxes of its own, as services have theirs.
  const connection = await dial(
    options,
    'provision',
    names.inboxPrefix('provision'),
    options.connectTimeoutMs,
  );
  const storageType = storage === 'file' ? StorageType.File : StorageType.Memory;
  try {
    const manager = await openManager(connection);
    for (const kind of ['run', 'operation', 'job'] as const) {
      await putWorkStream(manager, names, kind, {
        storage: storageType,
        num_replicas: replicas,
        max_age: nanos(maxAgeMs),
        // The server refuses one that is longer than messages live.
        duplicate_window: nanos(Math.min(duplicateWindowMs, maxAgeMs || duplicateWindowMs)),
      });
    }
    await putDeadStream(manager, names, { storage: storageType, num_replicas: replicas });
    for (const name of agents) {
      await putConsumer(manager, names, { kind: 'run', name }, ackWaitMs);
      await putConsumer(manager, names, { kind: 'operation', name }, ackWaitMs);
    }
    for (const name of tools) await putConsumer(manager, names, { kind: 'job', name }, ackWaitMs);
    const kept = { storage: storageType, replicas };
    await new Kvm(connection).create(names.cardBucket, { history: 1, ...kept });
    await new Kvm(connection).create(names.artifactBucket, { history: 1, ...kept });
    await putObjectStream(manager, names.artifactBucket, kept);
    for (const [kind, ttlMs] of Object.entries(claimTtlMs) as [ClaimKind, number][])
      await putObjectStream(manager, names.claimBucket(kind), { ...kept, ttlMs });
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
  limits: Pick<StreamConfig, 'storage' | 'num_replicas' | 'max_age' | 'duplicate_window'>,
): Promise<void> {
  const config = {
    ...limits,
    name: names.workStream(kind),
    subjects: [names.workSubject(kind, every)],
    retention: RetentionPolicy.Workqueue,
    discard: DiscardPolicy.New,
    // The acknowledgement of a publish goes where the publisher says, with the server's own rights: it must not empty the stream.
    deny_purge: true,
  };
  await putStream(manager, config);
}

/** Dead letters stay until an operator has looked at them, or for a long time. */
async function putDeadStream(
  manager: JetStreamManager,
  names: Subjects,
  limits: Pick<StreamConfig, 'storage' | 'num_replicas'>,
): Promise<void> {
  await putStream(manager, {
    ...limits,
    name: names.deadStream,
    subjects: [names.dead('agent', every), names.dead('tool', every)],
    retention: RetentionPolicy.Limits,
    max_age: nanos(deadLetterAgeMs),
    duplicate_window: nanos(duplicateWindowMs),
    deny_purge: true,
  });
}

/** A bucket as the Object Store of NATS has it. */
async function putObjectStream(
  manager: JetStreamManager,
  bucket: string,
  { storage, replicas, ttlMs = 0 }: { storage: StorageType; replicas: number; ttlMs?: number },
): Promise<void> {
  await putStream(manager, {
    name: `OBJ_${bucket}`,
    subjects: [`$O.${bucket}.C.>`, `$O.${bucket}.M.>`],
    storage,
    num_replicas: replicas,
    max_age: nanos(ttlMs),
    discard: DiscardPolicy.New,
    allow_rollup_hdrs: true,
    allow_direct: true,
    duplicate_window: nanos(duplicateWindowMs),
  });
}

async function putStream(
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

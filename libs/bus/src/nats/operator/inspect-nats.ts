import { MeshError, subjects } from '@agentmesh/protocol';
import { type JetStreamManager, jetstreamManager, StorageType } from '@nats-io/jetstream';
import { dial } from '../wire/dial.ts';
import { fromNats, isMissing } from '../wire/nats-errors.ts';
import type { OperatorOptions } from './stored-cards.ts';

/** A stream or bucket of the mesh. */
export interface InspectedStream {
  name: string;
  isInMemory: boolean;
  replicas: number;
}

/** The facts about a NATS that matter for a mesh. */
export interface NatsInspection {
  version: string;
  /** The name of the cluster; absent for a single server. */
  cluster?: string;
  /** Absent when JetStream is off, or when this user may not administer it. */
  jetStream?: JetStreamFacts;
  /** The reason for which there are no facts about JetStream. */
  problem?: MeshError;
}

export interface JetStreamFacts {
  /** The space that files use, and its limit, in bytes; the limit is -1 for none. */
  storage: number;
  maxStorage: number;
  streams: InspectedStream[];
  /** The names of streams and buckets that the provisioning step has not made. */
  missing: string[];
}

/**
 * Reads the facts about a NATS, as the operator.
 *
 * @throws MeshError `unavailable` when nothing answers; `unauthenticated` for the credentials
 */
export async function inspectNats(options: OperatorOptions): Promise<NatsInspection> {
  const names = subjects(options.namespace);
  const connection = await dial(options, 'doctor', names.inboxPrefix('provision'), options.connectTimeoutMs);
  try {
    const { version = '', cluster } = connection.info ?? {};
    const server = { version, ...(cluster !== undefined && { cluster }) };
    try {
      return {
        ...server,
        jetStream: await factsOf(await jetstreamManager(connection), streamNames(options.namespace)),
      };
    } catch (thrown) {
      return { ...server, problem: MeshError.from(fromNats(thrown, 'inspect JetStream')) };
    }
  } finally {
    await connection.close();
  }
}

function streamNames(namespace: string | undefined): string[] {
  const names = subjects(namespace);
  return [
    ...(['run', 'operation', 'job'] as const).map(names.workStream),
    ...[names.deadStream, names.auditStream, `KV_${names.cardBucket}`, `KV_${names.artifactBucket}`],
    ...[names.artifactBucket, names.claimBucket('news'), names.claimBucket('work')].map(
      (each) => `OBJ_${each}`,
    ),
  ];
}

async function factsOf(manager: JetStreamManager, wanted: readonly string[]): Promise<JetStreamFacts> {
  const { storage, limits } = await manager.getAccountInfo();
  const facts: JetStreamFacts = { storage, maxStorage: limits.max_storage, streams: [], missing: [] };
  for (const name of wanted) {
    try {
      const { config } = await manager.streams.info(name);
      const isInMemory = config.storage === StorageType.Memory;
      facts.streams.push({ name, isInMemory, replicas: config.num_replicas });
    } catch (thrown) {
      if (!isMissing(thrown)) throw thrown;
      facts.missing.push(name);
    }
  }
  return facts;
}

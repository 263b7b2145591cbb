import { MeshError, subjects } from '@agentmesh/protocol';
import { type JetStreamManager, jetstreamManager, StorageType } from '@nats-io/jetstream';
import { dial } from '../wire/dial.ts';
import { fromNats, isMissing, isTimeout } from '../wire/nats-errors.ts';
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
  /** True when JetStream alone gives no answer: it has stopped, most often because its disk is full. */
  isSilent?: boolean;
}

export interface JetStreamFacts {
  /** The space that files use, and its limit, in bytes; the limit is -1 for none. */
  storage: number;
  maxStorage: number;
  streams: InspectedStream[];
  /** The names of streams and buckets that the provisioning step has not made. */
  missing: string[];
  /** The reason for which NATS cannot write to its disk; absent when it can, and when it cannot be told. */
  writeProblem?: MeshError;
}

/**
 * Reads the facts about a NATS, as the operator. Stores a message in a stream of its own and removes it, because NATS reads on when
 * its disk is full.
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
        jetStream: await jetStreamFacts(await jetstreamManager(connection), options.namespace),
      };
    } catch (thrown) {
      const problem = MeshError.from(fromNats(thrown, 'inspect JetStream'));
      return { ...server, problem, isSilent: isTimeout(thrown) };
    }
  } finally {
    await connection.close();
  }
}

/** Returns the version of a NATS server, such as `2.15.1`. @throws MeshError as {@link inspectNats} */
export async function natsVersion(options: OperatorOptions): Promise<string> {
  const inbox = subjects(options.namespace).inboxPrefix('provision');
  const connection = await dial(options, 'version', inbox, options.connectTimeoutMs);
  const { version = '' } = connection.info ?? {};
  await connection.close();
  return version;
}

/** The size of the message by which the disk is tried, and the longest wait for its acknowledgement, in ms. */
const probeBytes = 128 * 1024;
const probeMs = 2_000;

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

async function jetStreamFacts(
  manager: JetStreamManager,
  namespace: string | undefined,
): Promise<JetStreamFacts> {
  const facts = await factsOf(manager, streamNames(namespace));
  const writeProblem = await writeProblemOf(manager, subjects(namespace).probeStream);
  return { ...facts, ...(writeProblem && { writeProblem }) };
}

/** Makes NATS store a message in a stream of its own, and removes the stream. */
async function writeProblemOf(manager: JetStreamManager, name: string): Promise<MeshError | undefined> {
  try {
    await manager.streams.add({ name, subjects: [name], storage: StorageType.File, num_replicas: 1 });
    await manager.jetstream().publish(name, new Uint8Array(probeBytes), { timeout: probeMs });
    return undefined;
  } catch (thrown) {
    const error = fromNats(thrown, 'store a message');
    // A server without space says that, or that it cannot make the store. Others are not our question.
    return ['resource_exhausted', 'internal'].includes(error.code) ? error : undefined;
  } finally {
    await manager.streams.delete(name).catch(() => {});
  }
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

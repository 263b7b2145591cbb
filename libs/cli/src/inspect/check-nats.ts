import { inspectNats, type JetStreamFacts, type NatsInspection, type OperatorOptions } from '@agentmesh/bus';
import { MeshError } from '@agentmesh/protocol';
import { describeNats } from '../local/describe-nats.ts';
import { percent } from './check-redis.ts';
import type { Checked, Finding } from './finding.ts';

const fullShare = 0.8;
/** The oldest version of nats-server that loses no acknowledged message when it is killed in a cluster. */
const provenMinor = 10;

/** Checks NATS: version, JetStream and its space, streams and their storage. */
export async function checkNats(address: OperatorOptions): Promise<Checked> {
  try {
    const facts = await inspectNats(address);
    const { jetStream } = facts;
    const details = jetStream ? streamFindings(jetStream, facts) : [noJetStream(facts)];
    return { facts: [describeNats(facts.version)], findings: [...versionFindings(facts), ...details] };
  } catch (error) {
    const { code, message } = MeshError.from(error);
    const finding: Finding = {
      check: code === 'unauthenticated' ? 'nats-login' : 'nats-connection',
      level: 'error',
      problem: `NATS cannot be used: ${message}`,
      cost: 'no service starts, and no run is accepted',
      remedy:
        'correct NATS_URL, MESH_NATS_USER and MESH_NATS_PASSWORD (or MESH_NATS_CREDS), or start nats-server',
    };
    return { facts: [], findings: [finding] };
  }
}

function versionFindings({ version, cluster }: NatsInspection): Finding[] {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (cluster === undefined || major > 2 || minor >= provenMinor) return [];
  return [
    {
      check: 'nats-version',
      level: 'warning',
      problem: `the cluster ${cluster} runs NATS ${version}`,
      cost: 'when servers are killed one after the other, it loses acknowledged messages (docs/reliability.md)',
      remedy: 'install a later version; 2.15 lost nothing in our tests',
    },
  ];
}

function noJetStream({ problem, isSilent }: NatsInspection): Finding {
  if (problem?.code === 'permission_denied') {
    return {
      check: 'nats-rights',
      level: 'error',
      problem: `this NATS user may not look at JetStream: ${problem.message}`,
      cost: 'the commands for operators cannot work',
      remedy: 'log in as the user provision, or use its credentials',
    };
  }
  if (isSilent) {
    return {
      check: 'jetstream-silent',
      level: 'error',
      problem: 'NATS answers, and its JetStream does not: it stops when the disk of nats-server is full',
      cost: 'no run and no file is accepted, and no service starts',
      remedy:
        'look into the log of nats-server and at its disk (df); free the disk, then restart nats-server',
    };
  }
  return {
    check: 'jetstream',
    level: 'error',
    problem: `JetStream cannot be used: ${problem?.message ?? 'it is off'}`,
    cost: 'runs have no queue, so none is accepted',
    remedy: 'start nats-server with jetstream { store_dir: … } in its configuration',
  };
}

function streamFindings(facts: JetStreamFacts, { cluster }: NatsInspection): Finding[] {
  const { storage, maxStorage, streams, missing, writeProblem } = facts;
  const inMemory = streams.filter(({ isInMemory }) => isInMemory).map(({ name }) => name);
  const single = streams.filter(({ replicas }) => replicas === 1).map(({ name }) => name);
  const findings: (Finding | false)[] = [
    missing.length > 0 && {
      check: 'streams',
      level: 'error',
      problem: `streams of the mesh are missing: ${missing.join(', ')}`,
      cost: 'services that use them do not start, or fail',
      remedy: 'run the provisioning step (deploy/README.md), or check MESH_NAMESPACE',
    },
    writeProblem !== undefined && {
      check: 'nats-disk',
      level: 'error',
      problem: `NATS cannot write to its disk: ${writeProblem.message}`,
      cost: 'no run and no file is accepted, and services cannot announce themselves',
      remedy:
        'free the disk of nats-server (df); when JetStream does not come back by itself, restart the server',
    },
    inMemory.length > 0 && {
      check: 'stream-storage',
      level: 'warning',
      problem: `streams lie in memory: ${inMemory.join(', ')}`,
      cost: 'a restart of NATS loses the runs that wait and the files of sessions',
      remedy:
        'provision them with MESH_STREAM_STORAGE=file; NATS does not change the storage of a stream: delete it first',
    },
    cluster !== undefined &&
      single.length > 0 && {
        check: 'stream-replicas',
        level: 'warning',
        problem: `streams in the cluster ${cluster} have one copy: ${single.join(', ')}`,
        cost: 'while the server with the copy is away, no run is accepted; its disk is the only one',
        remedy: 'provision them with MESH_STREAM_REPLICAS=3',
      },
    maxStorage > 0 &&
      storage > fullShare * maxStorage && {
        check: 'jetstream-space',
        level: 'warning',
        problem: `JetStream uses ${percent(storage / maxStorage)} of its space (${maxStorage} bytes)`,
        cost: 'when it is full, runs and files are refused',
        remedy: 'raise max_file_store or the limit of the account, or delete old files',
      },
  ];
  return findings.filter((each) => each !== false);
}

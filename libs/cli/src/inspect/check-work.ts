import {
  type OperatorOptions,
  openCards,
  openDeadLetters,
  openOrphans,
  openServiceStats,
  openWorkStreams,
  type ReplicaStats,
} from '@agentmesh/bus';
import { MeshError } from '@agentmesh/protocol';
import type { Checked, Finding } from './finding.ts';

/** Checks the work of a mesh: services without a replica or a queue, or in several versions; orphans, dead letters, ghosts. */
export async function checkWork(address: OperatorOptions): Promise<Checked> {
  try {
    const findings = await Promise.all([serviceFindings(address), queueFindings(address)]);
    return { facts: [], findings: findings.flat() };
  } catch (error) {
    // The checks of NATS report why the queues cannot be read.
    if (!(error instanceof MeshError)) throw error;
    return { facts: [`the queues and cards cannot be read: ${error.message}`], findings: [] };
  }
}

async function serviceFindings(address: OperatorOptions): Promise<Finding[]> {
  await using cards = await openCards(address);
  await using streams = await openWorkStreams(address);
  await using stats = await openServiceStats(address);
  const [list, queues] = [await cards.list(), await streams.list()];
  const findings = await Promise.all(
    list.map(async ({ kind, name }): Promise<Finding[]> => {
      const hasQueue = queues.some((queue) => queue.consumer === name && queue.kind === 'run');
      return [
        ...((await cards.isServed(name)) ? [] : [absent(kind, name)]),
        ...(kind === 'tool' || hasQueue ? [] : [withoutQueue(name)]),
        ...mixedVersions(kind, name, await stats.of(name)),
      ];
    }),
  );
  const invalid = (await cards.problems()).map(invalidCard);
  const ghosts = queues.reduce((sum, each) => sum + each.ghosts, 0);
  return [...findings.flat(), ...invalid, ...(ghosts > 0 ? [ghostFinding(ghosts)] : [])];
}

function absent(kind: string, name: string): Finding {
  return {
    check: 'replicas',
    level: 'warning',
    problem: `no replica of ${kind} ${name} is up`,
    cost: 'messages for it wait or are refused',
    remedy: `start it; or, if it is gone for good: agentmesh cards remove ${kind} ${name}`,
  };
}

/** Returns a finding when the replicas of a service have different versions. */
function mixedVersions(kind: string, name: string, replicas: readonly ReplicaStats[]): Finding[] {
  const versions = Map.groupBy(replicas, ({ version = 'unknown' }) => version);
  if (versions.size < 2) return [];
  const parts = [...versions].map(([version, { length }]) => `${version} (${length})`).sort();
  return [
    {
      check: 'versions',
      level: 'warning',
      problem: `${kind} ${name} runs in ${versions.size} versions: ${parts.join(', ')}`,
      cost: 'users get the old answers and the new ones by chance, as long as both run; during an update this is normal',
      remedy: 'finish the update, or stop the replicas of the version that is not wanted',
    },
  ];
}

function invalidCard(problem: string): Finding {
  return {
    check: 'cards',
    level: 'error',
    problem,
    cost: 'no agent sees the service',
    remedy: 'mend the card in the program that writes it, and start the program again',
  };
}

function withoutQueue(name: string): Finding {
  return {
    check: 'queue',
    level: 'error',
    problem: `agent ${name} has no queue for runs`,
    cost: 'it gets no messages: its runs stay orphans',
    remedy: 'run the provisioning step with its definition',
  };
}

function ghostFinding(count: number): Finding {
  return {
    check: 'ghosts',
    level: 'warning',
    problem: `NATS keeps ${count} messages that it does not deliver, since a server was killed`,
    cost: 'work among them is never done',
    remedy: 'agentmesh streams sweep',
  };
}

async function queueFindings(address: OperatorOptions): Promise<Finding[]> {
  await using letters = await openDeadLetters(address);
  await using orphans = await openOrphans(address);
  const dead = (await letters.list({ afterSeq: 0 })).length;
  const orphaned = (await orphans.list()).reduce((sum, { count }) => sum + count, 0);
  const findings: (Finding | false)[] = [
    dead > 0 && {
      check: 'dead-letters',
      level: 'warning',
      problem: `there are dead letters: ${dead}${dead === 50 ? ' or more' : ''}`,
      cost: 'their work is not done',
      remedy: 'agentmesh dead-letters list, then replay or remove them',
    },
    orphaned > 0 && {
      check: 'orphans',
      level: 'warning',
      problem: `no service takes ${orphaned} messages`,
      cost: 'they wait for good, and with them later runs of their sessions',
      remedy: 'agentmesh orphans list; start the service, or bury them',
    },
  ];
  return findings.filter((each) => each !== false);
}

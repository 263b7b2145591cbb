import { openCards, openQueues } from '@agentmesh/bus';
import { provisionedAgents, type ServiceManifest } from '@agentmesh/mesh';
import type { Tenancy } from '@agentmesh/mesh/accounts';
import { MeshError, type QueueName } from '@agentmesh/protocol';
import { connectTimeoutMs } from '../context/surroundings.ts';

/** Adds the queues of services and the records of agents. Returns sentences about what is left to do. */
export async function addTraces(
  tenancy: Tenancy,
  added: readonly ServiceManifest[],
  url: string,
): Promise<string[]> {
  try {
    await using queues = await openQueues(provisionerOf(tenancy, url));
    for (const queue of added.flatMap(queuesOf)) await queues.add(queue);
    await using cards = await openCards(provisionerOf(tenancy, url));
    for (const record of provisionedAgents(added)) await cards.putRecord(record);
    return [];
  } catch (thrown) {
    if (!isUnprovisioned(thrown)) throw thrown;
    return ['there are no streams yet; run the provisioning step with the credentials of provision'];
  }
}

/** Removes the queues and the card of a service, if there are any. Returns the number of messages that the queues held. */
export async function removeTraces(
  tenancy: Tenancy,
  manifest: ServiceManifest,
  url: string,
): Promise<number> {
  const { kind, name } = manifest;
  if (kind !== 'agent' && kind !== 'tool') return 0;
  await using queues = await openQueues(provisionerOf(tenancy, url));
  let waiting = 0;
  for (const queue of queuesOf(manifest)) waiting += await queues.remove(queue);
  await using cards = await openCards(provisionerOf(tenancy, url));
  try {
    await cards.remove(kind, name).catch((thrown: unknown) => {
      if (MeshError.from(thrown).code !== 'not_found') throw thrown;
    });
    // An agent that never started has a record and no card.
    if (kind === 'agent') await cards.removeRecord(name);
  } catch (thrown) {
    if (!isUnprovisioned(thrown)) throw thrown;
  }
  return waiting;
}

/** Tells whether something failed because the mesh has no streams and buckets yet. */
function isUnprovisioned(thrown: unknown): boolean {
  return MeshError.from(thrown).code === 'failed_precondition';
}

function queuesOf({ kind, name, longRunning }: ServiceManifest): QueueName[] {
  if (kind === 'agent')
    return [
      { kind: 'run', name },
      { kind: 'operation', name },
    ];
  return longRunning ? [{ kind: 'job', name }] : [];
}

function provisionerOf({ folder, namespace }: Tenancy, url: string) {
  const credsFile = folder.mesh(namespace).creds('provision');
  return { url, namespace, credsFile, connectTimeoutMs };
}

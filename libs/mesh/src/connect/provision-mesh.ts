import { provision } from '@agentmesh/bus';
import type { Config, ServiceConfig } from '@agentmesh/service';
import { provisionRedis } from '@agentmesh/store';
import { provisionedAgents } from '../rights/provisioned.ts';
import type { ServiceManifest } from '../rights/service-manifest.ts';
import { natsTlsOf } from './connect-mesh.ts';
import type { provisionConfig } from './provision-config.ts';

/**
 * Makes what the services of a mesh need and have no right to make: streams, consumers and buckets in JetStream,
 * the records of the agents, and the functions of the store in Redis. Changes what is there already, and removes
 * nothing.
 *
 * @throws MeshError `unavailable` when a server does not answer, `unauthenticated` when it refuses the credentials
 */
export async function provisionMesh(
  services: readonly ServiceManifest[],
  config: ServiceConfig & Config<typeof provisionConfig>,
): Promise<void> {
  const namesOf = (wanted: 'agent' | 'tool') =>
    services.flatMap(({ kind, name }) => (kind === wanted ? [name] : []));
  await provision({
    url: config.natsUrl,
    user: config.natsUser,
    pass: config.natsPassword?.reveal(),
    tls: natsTlsOf(config),
    credsFile: config.natsCreds,
    namespace: config.namespace,
    replicas: config.replicas,
    storage: config.storage,
    ackWaitMs: config.ackWaitMs,
    agents: namesOf('agent'),
    tools: namesOf('tool'),
    services: provisionedAgents(services),
  });
  await provisionRedis({ url: config.redisUrl.reveal(), caFile: config.redisCaFile });
}

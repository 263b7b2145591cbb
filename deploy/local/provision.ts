import { provision } from '@agentmesh/bus';
import { natsTlsOf, provisionedAgents } from '@agentmesh/mesh';
import { readConfig, serviceConfig } from '@agentmesh/service';
import { provisionRedis } from '@agentmesh/store';
import { provisionConfig } from './provision-config.ts';
import { samples } from './samples.ts';

const config = readConfig({ ...serviceConfig, ...provisionConfig });

const namesOf = (kind: 'agent' | 'tool') =>
  samples.flatMap(({ manifest }) => (manifest.kind === kind ? [manifest.name] : []));

// Makes the streams and buckets of the mesh in JetStream, with a separate user: services have no right to
// make streams and buckets.
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
  services: provisionedAgents(samples.map(({ manifest }) => manifest)),
});
// Loads the functions of the store into Redis: services have no right to load code.
await provisionRedis({ url: config.redisUrl.reveal(), caFile: config.redisCaFile });
console.log('provisioned: streams, consumers, the bucket of cards and the functions of Redis are there');

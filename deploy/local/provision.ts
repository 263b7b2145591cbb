import { provision } from '@agentmesh/bus';
import { readConfig, serviceConfig } from '@agentmesh/service';
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
  credsFile: config.natsCreds,
  namespace: config.namespace,
  replicas: config.replicas,
  storage: config.storage,
  ackWaitMs: config.ackWaitMs,
  agents: namesOf('agent'),
  tools: namesOf('tool'),
});
console.log('provisioned: streams, consumers and the bucket of cards are there');

import { provision } from '@agentmesh/bus';
import { integer, oneOf, readConfig, serviceConfig, variable } from '@agentmesh/service';
import { samples } from './samples.ts';

const config = readConfig({
  ...serviceConfig,
  replicas: variable('MESH_STREAM_REPLICAS', 'copies of each stream in a NATS cluster', integer(1, 5), {
    default: '1',
  }),
  storage: variable(
    'MESH_STREAM_STORAGE',
    'where streams are kept: file or memory',
    oneOf('file', 'memory'),
    {
      default: 'file',
    },
  ),
  ackWaitMs: variable(
    'MESH_ACK_WAIT_MS',
    'a run whose process gives no sign of life for so long goes to another replica, in ms',
    integer(1_000, 600_000),
    { default: '3000' },
  ),
});

const namesOf = (kind: 'agent' | 'tool') =>
  samples.flatMap(({ manifest }) => (manifest.kind === kind ? [manifest.name] : []));

// Makes the streams and buckets of the mesh in JetStream, with a user of its own: services have no right to
// make them.
await provision({
  url: config.natsUrl,
  user: config.natsUser,
  pass: config.natsPassword?.reveal(),
  namespace: config.namespace,
  replicas: config.replicas,
  storage: config.storage,
  ackWaitMs: config.ackWaitMs,
  agents: namesOf('agent'),
  tools: namesOf('tool'),
});
console.log('provisioned: streams, consumers and the bucket of cards are there');

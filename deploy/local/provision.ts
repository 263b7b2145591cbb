import { provisionConfig, provisionMesh } from '@agentmesh/mesh';
import { readConfig, serviceConfig } from '@agentmesh/service';
import { samples } from './samples.ts';

// Makes what the samples need, with a separate user: services have no right to make streams and buckets, and none
// to load code into Redis.
await provisionMesh(
  samples.map(({ manifest }) => manifest),
  readConfig({ ...serviceConfig, ...provisionConfig }),
);
console.log('provisioned: streams, consumers, the bucket of cards and the functions of Redis are there');

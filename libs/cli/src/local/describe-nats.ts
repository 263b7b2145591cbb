import { isAtLeast } from '@agentmesh/protocol';

/** The first version of nats-server that lets nobody acknowledge messages of another account's queue. */
const separating = '2.15';

/** Returns a line about a version of nats-server: the version, and what it means when it is an old one. */
export function describeNats(version: string): string {
  const danger = `: before ${separating} an agent that was taken over can empty the queues of all agents (docs/security.md)`;
  return `NATS ${version}${isAtLeast(version, separating) ? '' : danger}`;
}

/** The first version of nats-server that lets nobody acknowledge messages of another account's queue. */
const separating = { major: 2, minor: 15 };

/** Returns a line about a version of nats-server: the version, and what it means when it is an old one. */
export function describeNats(version: string): string {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isNew = major > separating.major || (major === separating.major && minor >= separating.minor);
  const danger = `: before ${separating.major}.${separating.minor} an agent that was taken over can empty the queues of all agents (docs/security.md)`;
  return `NATS ${version}${isNew ? '' : danger}`;
}

import type { ServiceManifest } from '@agentmesh/mesh';
import { type DeployedService, nameOf } from './deployed-service.ts';

/** The parts of the chart's values beside the services. */
export interface HelmValuesOptions {
  namespace: string;
  /** The image of every service that names none, without its tag. */
  image: string;
  /** The image and the arguments of the step that makes the queues. */
  provision: { image: string; args: readonly string[] };
  services: readonly DeployedService[];
  /** The definitions of all agents and tools. */
  all: readonly ServiceManifest[];
}

/** Returns the values of the chart `deploy/helm/agentmesh` for a mesh: its namespace, its images, and every service. */
export function helmValues({ namespace, image, provision, services, all }: HelmValuesOptions): string {
  const of = (kind: ServiceManifest['kind']) => services.filter(({ manifest }) => manifest.kind === kind);
  const partsOf = (service: DeployedService) => [
    ...(service.image === image ? [] : [`image: { repository: ${service.image}, tag: dev }`]),
    ...(service.args === undefined ? [] : [`args: ${JSON.stringify(service.args)}`]),
  ];
  const single = (name: string, parts: readonly string[]) =>
    parts.length === 0 ? '' : `${name}:\n${parts.map((part) => `  ${part}\n`).join('')}`;
  const list = (name: string, found: readonly DeployedService[]) =>
    found.length === 0
      ? `${name}: []\n`
      : `${name}:\n${found.map((service) => entry(service, partsOf(service), all)).join('')}`;
  const [gateway] = of('gateway');
  const [keeper] = of('keeper');
  const provisionParts = [
    ...(provision.image === image ? [] : [`image: { repository: ${provision.image}, tag: dev }`]),
    `args: ${JSON.stringify(provision.args)}`,
  ];
  return `image: { repository: ${image}, tag: dev }
mesh: { namespace: ${namespace} }
${single('gateway', gateway ? partsOf(gateway) : [])}${single('keeper', keeper ? partsOf(keeper) : ['enabled: false'])}${single('provision', provisionParts)}${list('agents', of('agent'))}${list('tools', of('tool'))}`;
}

/** Returns the values that make the servers a part of the release, with the rights of all services. */
export function helmServers(servers: { nats: string; redisUsers: string; redisStart: string }): string {
  const block = (text: string) => `|\n${text.trimEnd().replace(/^(?=.)/gm, '    ')}\n`;
  return `# One server of NATS and one of Redis in the release, and passwords that the chart makes.
secrets: { create: true }
provision: { streamReplicas: 1 }
nats-server:
  enabled: true
  config: ${block(servers.nats)}redis-server:
  enabled: true
  users: ${block(servers.redisUsers)}  start: ${block(servers.redisStart)}`;
}

function entry(
  { name, manifest, isPython }: DeployedService,
  parts: readonly string[],
  all: readonly ServiceManifest[],
): string {
  const { count, why } = leastReplicas(manifest.name, all);
  const lines = [
    `name: ${manifest.name}`,
    ...(name === nameOf(manifest) ? [] : [`service: ${name}`]),
    ...parts,
    ...(manifest.kind === 'agent' ? [`# ${why}`, `minReplicas: ${count}`] : []),
    ...(manifest.longRunning ? ['longRunning: true'] : []),
    ...(isPython ? ['python: true'] : []),
  ];
  return `  - ${lines.join('\n    ')}\n`;
}

/**
 * Returns the least number of replicas of an agent. It is zero only for an agent that is reached by transfer
 * alone: its run commands wait in a queue, but asks and first messages should not wait.
 */
function leastReplicas(agent: string, all: readonly ServiceManifest[]): { count: 0 | 1; why: string } {
  const callers = all.filter(({ asks }) => asks.includes(agent)).map(({ name }) => name);
  if (callers.length > 0)
    return {
      count: 1,
      why: `Asked by ${callers.join(', ')}. An ask is a request, which no queue keeps: without a replica it fails at once.`,
    };
  if (all.some(({ transfers }) => transfers.includes(agent)))
    return {
      count: 0,
      why: 'Reached by transfer alone: the run command waits in its queue, and one waiting command starts a replica.',
    };
  return { count: 1, why: 'A root agent: the first message of the day must not wait for a pod.' };
}

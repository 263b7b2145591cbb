import type { ServiceManifest } from '@agentmesh/mesh';
import { type DeployedService, nameOf } from './deployed-service.ts';
import { leastReplicas } from './kubernetes-services.ts';

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

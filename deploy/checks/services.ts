import { basename } from 'node:path';
import { agentConfig, busName, gatewayManifest, type ServiceManifest } from '@agentmesh/mesh';
import { describeConfig, serviceConfig } from '@agentmesh/service';
import { gatewayConfig } from '../../services/gateway/src/context/config.ts';
import { type Sample, samples } from '../local/samples.ts';

/** A service of the mesh as the deployment files must have it. */
export interface DeployedService {
  /** Its name in Kubernetes and in compose, and of its image. */
  name: string;
  /** Its package. */
  folder: string;
  /** Its NATS user: kind and name. */
  user: string;
  /** The name of its agent, when it is one: the consumer of its run commands. */
  agent?: string;
  /** Its definition, when it is a tool. */
  tool?: ServiceManifest;
}

/** All services: the gateway, and each agent and tool that has a definition below `services`. */
export const deployedServices: DeployedService[] = [
  { name: 'gateway', folder: 'services/gateway', user: busName(gatewayManifest) },
  ...samples.map(deployed),
];

function deployed({ manifest, folder }: Sample): DeployedService {
  const user = busName(manifest);
  const { kind, name } = manifest;
  return kind === 'agent'
    ? { name: name.replaceAll('_', '-'), folder, user, agent: name }
    : { name: `${basename(folder)}-tool`, folder, user, tool: manifest };
}

/** What a service is configured by, so that a variable in a deployment file that it does not know is found. */
export function knownVariables(name: string): string[] {
  const isAgent = deployedServices.some((service) => service.name === name && service.agent !== undefined);
  const own = name === 'gateway' ? gatewayConfig : isAgent ? agentConfig : {};
  return describeConfig({ ...serviceConfig, ...own }).map((variable) => variable.name);
}

import { basename } from 'node:path';
import { agentConfig, busName, gatewayManifest, keeperManifest, type ServiceManifest } from '@agentmesh/mesh';
import { describeConfig, serviceConfig } from '@agentmesh/service';
import { gatewayConfig } from '../../services/gateway/src/context/config.ts';
import { type Sample, samples } from '../local/samples.ts';

/** A service of the mesh that the deployment files must contain. */
export interface DeployedService {
  /** The name of the service in Kubernetes and in compose, and of its image. */
  name: string;
  /** The folder of its package. */
  folder: string;
  /** The service's NATS user, made of kind and name. */
  user: string;
  /** The name of the agent, which is also the consumer of its run commands; absent for other services. */
  agent?: string;
  /** The definition of the tool; absent for other services. */
  tool?: ServiceManifest;
}

/** All services: the gateway, the keeper, and each agent and tool with a definition below `services`. */
export const deployedServices: DeployedService[] = [
  { name: 'gateway', folder: 'services/gateway', user: busName(gatewayManifest) },
  { name: 'keeper', folder: 'services/keeper', user: busName(keeperManifest) },
  ...samples.map(deployed),
];

function deployed({ manifest, folder }: Sample): DeployedService {
  const user = busName(manifest);
  const { kind, name } = manifest;
  return kind === 'agent'
    ? { name: name.replaceAll('_', '-'), folder, user, agent: name }
    : { name: `${basename(folder)}-tool`, folder, user, tool: manifest };
}

/** Returns the variables that a service reads, to find unknown variables in a deployment file. */
export function knownVariables(name: string): string[] {
  const isAgent = deployedServices.some((service) => service.name === name && service.agent !== undefined);
  const own = name === 'gateway' ? gatewayConfig : isAgent ? agentConfig : {};
  return describeConfig({ ...serviceConfig, ...own }).map((variable) => variable.name);
}

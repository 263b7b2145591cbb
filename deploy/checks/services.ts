import { describeConfig, serviceConfig } from '@agentmesh/service';
import { gatewayConfig } from '../../services/gateway/src/config.ts';

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
}

function agent(folder: string): DeployedService {
  const name = `${folder}_agent`;
  return { name: `${folder}-agent`, folder: `services/agents/${folder}`, user: `agent_${name}`, agent: name };
}

/** All of them: the one list that compose and the Kubernetes base are compared with. */
export const deployedServices: DeployedService[] = [
  { name: 'gateway', folder: 'services/gateway', user: 'gateway' },
  ...['assistant', 'customer', 'stock', 'summary', 'support', 'weather'].map(agent),
  { name: 'weather-tool', folder: 'services/tools/weather', user: 'tool_get_weather' },
];

/** What a service is configured by, so that a variable in a deployment file that it does not know is found. */
export function knownVariables(name: string): string[] {
  const shape = name === 'gateway' ? { ...serviceConfig, ...gatewayConfig } : serviceConfig;
  return describeConfig(shape).map((variable) => variable.name);
}

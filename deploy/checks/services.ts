import { agentConfig } from '@agentmesh/mesh';
import { describeConfig, serviceConfig } from '@agentmesh/service';
import { gatewayConfig } from '../../services/gateway/src/context/config.ts';

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

function agent(folder: string, name = `${folder.replaceAll('-', '_')}_agent`): DeployedService {
  const deployed = name.replaceAll('_', '-');
  return { name: deployed, folder: `services/agents/${folder}`, user: `agent_${name}`, agent: name };
}

function tool(folder: string, name: string): DeployedService {
  return { name: `${folder}-tool`, folder: `services/tools/${folder}`, user: `tool_${name}` };
}

/** All of them: the one list that compose and the Kubernetes base are compared with. */
export const deployedServices: DeployedService[] = [
  { name: 'gateway', folder: 'services/gateway', user: 'gateway' },
  agent('assistant'),
  agent('customer'),
  agent('documents', 'document_agent'),
  agent('files', 'file_agent'),
  agent('reimbursement'),
  agent('stock'),
  agent('summary'),
  agent('support'),
  agent('time-off'),
  agent('weather'),
  tool('approval', 'ask_for_approval'),
  tool('document-analysis', 'process_document'),
  tool('file-processing', 'process_large_file'),
  tool('payment', 'reimburse'),
  tool('weather', 'get_weather'),
];

/** What a service is configured by, so that a variable in a deployment file that it does not know is found. */
export function knownVariables(name: string): string[] {
  const isAgent = deployedServices.some((service) => service.name === name && service.agent !== undefined);
  const own = name === 'gateway' ? gatewayConfig : isAgent ? agentConfig : {};
  return describeConfig({ ...serviceConfig, ...own }).map((variable) => variable.name);
}

import { gatewayConfig } from '@agentmesh/gateway/config';
import { agentConfig } from '@agentmesh/mesh';
import { credentialKeysVariable } from '@agentmesh/protocol';
import { describeConfig, serviceConfig, toolVariables } from '@agentmesh/service';
import { variablesOfOthers } from '../context/variables-of-others.ts';

/** The variables that the launcher sets for each service. */
const launched = [
  'MESH_NATS_USER',
  'MESH_NATS_PASSWORD',
  'MESH_NATS_CREDS',
  'MESH_NAMESPACE',
  'MESH_REDIS_PREFIX',
  'MESH_HTTP_PORT',
  'MESH_HEALTH_PORT',
  'MESH_LOG_FORMAT',
  'MESH_LOG_LEVEL',
  'MESH_MODEL',
];

const namesOf = (shape: Parameters<typeof describeConfig>[0]) =>
  describeConfig(shape).map(({ name }) => name);
const ofAll = namesOf(serviceConfig).filter((name) => name.startsWith('MESH_'));
const ofGateway = namesOf(gatewayConfig);
const ofAgents = namesOf(agentConfig);

/**
 * Returns the variables of an environment that a service reads, except the variables that the launcher sets.
 *
 * @throws Error for a `MESH_` variable that no service reads
 */
export function environmentOf(
  service: 'gateway' | 'other',
  env: NodeJS.ProcessEnv = process.env,
): NodeJS.ProcessEnv {
  const known = service === 'gateway' ? [...ofAll, ...ofGateway] : ofAll;
  const entries = Object.entries(env).filter(([name]) => {
    if (name === 'NATS_URL' || name === 'REDIS_URL' || name === credentialKeysVariable) return false;
    if (toolVariables.includes(name)) return name !== 'MESH_DATA_DIR';
    if (!name.startsWith('MESH_')) return true;
    assertKnown(name);
    return known.includes(name) && !launched.includes(name);
  });
  return Object.fromEntries(entries);
}

function assertKnown(name: string): void {
  const all = [...ofAll, ...ofGateway, ...ofAgents, ...variablesOfOthers];
  if (all.includes(name)) return;
  throw new Error(`${name} is not a setting of the mesh; docs/configuration.md lists the settings`);
}

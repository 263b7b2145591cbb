import type { Provisioned } from '@agentmesh/protocol';
import type { ServiceManifest } from './service-manifest.ts';

/** Returns the records of the agents among some services, for `provision`. */
export function provisionedAgents(services: readonly (ServiceManifest & { app?: string })[]): Provisioned[] {
  return services
    .filter(({ kind }) => kind === 'agent')
    .map(({ name, app, transfers, description, globalInstruction }) => ({
      name,
      ...(app !== undefined && { app }),
      subAgents: transfers,
      ...(description !== undefined && { description }),
      ...(globalInstruction !== undefined && { globalInstruction }),
    }));
}

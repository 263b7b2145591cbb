import type { ServiceKind } from '@agentmesh/protocol';

/** The name on the bus of all programs without a service of their own. */
export const clientService = 'client';
export const gatewayService = 'gateway';
/** The name on the bus of the service that gives agents and tools the files of their work. */
export const keeperService = 'keeper';

/**
 * Returns the name of a service among all services, of its NATS user and of its inboxes. The name contains
 * the kind, because an agent and a tool may have the same name.
 */
export function serviceName(kind: ServiceKind, name: string): string {
  return `${kind}_${name}`;
}

/** Returns the tool with this name on the bus; undefined if it is not a tool's. */
export function toolOf(service: string): string | undefined {
  const prefix = serviceName('tool', '');
  return service.startsWith(prefix) ? service.slice(prefix.length) : undefined;
}

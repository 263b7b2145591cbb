import type { ServiceKind } from '@agentmesh/protocol';

/**
 * Returns the name of a service among all services, of its NATS user and of its inboxes. The name contains
 * the kind, because an agent and a tool may have the same name.
 */
export function serviceName(kind: ServiceKind, name: string): string {
  return `${kind}_${name}`;
}

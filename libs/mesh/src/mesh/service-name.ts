import type { ServiceKind } from '@agentmesh/protocol';

/** Name of a service among all services, of its NATS user and of its inboxes: an agent and a tool may be called alike. */
export function serviceName(kind: ServiceKind, name: string): string {
  return `${kind}_${name}`;
}

import type { PendingCall } from '@agentmesh/agent';
import type { Mesh } from './mesh.ts';
import { clientService, serviceName } from './service-name.ts';

/** A pending call with the address where it can be answered. */
export interface AddressedCall extends PendingCall {
  app: string;
  user: string;
  /** The subject for answers of the user `client`; absent for a call of an agent without a service. */
  operationSubject?: string;
}

/**
 * Returns the function that makes the subjects for updates of an agent's calls: for a tool that works in its
 * own service, or for a program that works on the call outside of the mesh.
 */
export function operationSubjects({ subjects }: Pick<Mesh, 'subjects'>, agent: string) {
  return (callId: string, tool?: string): string =>
    subjects.operation(agent, callId, tool === undefined ? clientService : serviceName('tool', tool));
}

/** Adds the address for answers to a pending call. */
export function addressedCall(
  { subjects }: Pick<Mesh, 'subjects'>,
  { app, user }: { app: string; user: string },
  call: PendingCall,
): AddressedCall {
  const { service, id } = call;
  return {
    ...call,
    app,
    user,
    ...(service !== undefined && { operationSubject: subjects.operation(service, id, clientService) }),
  };
}

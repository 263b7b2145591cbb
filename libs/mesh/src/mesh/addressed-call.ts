import type { PendingCall } from '@agentmesh/agent';
import type { Mesh } from './mesh.ts';

/** A pending call with the address where it can be answered. */
export interface AddressedCall extends PendingCall {
  app: string;
  user: string;
  /** The subject for answers; absent for a call of an agent without a service. */
  operationSubject?: string;
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
    ...(service !== undefined && { operationSubject: subjects.operation(service, id) }),
  };
}

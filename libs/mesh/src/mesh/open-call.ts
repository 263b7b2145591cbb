import type { PendingCall } from '@agentmesh/agent';
import type { Mesh } from './mesh.ts';

/** A call that waits, with where it can be answered. */
export interface OpenCall extends PendingCall {
  app: string;
  user: string;
  /** Where an answer can be published; absent for a call of an agent that no service answers for. */
  operationSubject?: string;
}

/** Adds to a pending call where it can be answered. */
export function openCall(
  { subjects }: Pick<Mesh, 'subjects'>,
  { app, user }: { app: string; user: string },
  call: PendingCall,
): OpenCall {
  const { service, id } = call;
  return {
    ...call,
    app,
    user,
    ...(service !== undefined && { operationSubject: subjects.operation(service, id) }),
  };
}

import { MeshError } from '@agentmesh/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CallerLimits } from '../context/limits.ts';
import type { Role } from '../context/role.ts';
import type { Route } from '../context/route.ts';
import { type Authenticator, authenticate } from './authenticator.ts';
import { type Caller, callerOf, hasRole, hasRoleAnywhere, nameOf, noteCaller } from './caller.ts';

/** The ways to authenticate callers, and their limits. */
export interface Door {
  ways: readonly Authenticator[];
  limits?: CallerLimits | undefined;
}

/**
 * Admits a request to a route, before its body is read: authenticates the caller, counts the request, and checks
 * the role that the route needs, in the app and for the user of the path. A request that is allowed counts for both.
 *
 * @throws MeshError `unauthenticated`, `permission_denied` with the missing role in its details,
 * `resource_exhausted` past a limit
 */
export async function admit(
  door: Door,
  { role, others = 'operator', load }: Pick<Route, 'role' | 'others' | 'load'>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  if (role === 'public') return;
  const { ways, limits } = door;
  let caller: Caller;
  try {
    caller = await authenticate(ways, request, reply);
  } catch (error) {
    // A request without valid credentials is counted by its address.
    await limits?.countRequest(request);
    throw error;
  }
  noteCaller(request, caller);
  await limits?.countRequest(request);
  assertMayUse(caller, { role, others }, request);
  await limits?.admitLoad(load, request, reply);
  const { app, user } = request.params as { app?: string; user?: string };
  if (app !== undefined) await limits?.admitTarget({ app, user }, load, reply);
}

/** Checks the role that a route needs. @throws MeshError `permission_denied` */
function assertMayUse(
  caller: Caller,
  { role, others }: { role: Role; others: Role },
  request: FastifyRequest,
): void {
  const { app, user } = request.params as { app?: string; user?: string };
  if (app === undefined) {
    if (!hasRoleAnywhere(caller, role)) throw missingRole(caller, role, undefined, 'to use this route');
    return;
  }
  assertRole(caller, app, role, 'to use this route');
  if (user !== undefined && !actsFor(caller, user))
    assertRole(caller, app, others, `to use this route for user ${user}`);
}

/**
 * Checks that the caller of a request may act for a user of an app, where the path does not name both.
 *
 * @throws MeshError `permission_denied`
 */
export function assertMayActFor(request: FastifyRequest, app: string, user: string): void {
  const caller = callerOf(request);
  assertRole(caller, app, 'user', 'to use this route');
  if (!actsFor(caller, user)) assertRole(caller, app, 'operator', `to use this route for user ${user}`);
}

/** Tells whether the caller of a request may act for a user of an app. */
export function mayActFor(request: FastifyRequest, app: string, user: string): boolean {
  const caller = callerOf(request);
  return hasRole(caller, app, actsFor(caller, user) ? 'user' : 'operator');
}

/** Tells whether a user is the caller's own one, so that no greater role is needed. */
export function actsFor({ via, user }: Caller, wanted: string): boolean {
  return via === 'none' || user === wanted;
}

/** Checks a role of the caller of a request in an app. @throws MeshError `permission_denied` */
export function assertCallerRole(request: FastifyRequest, app: string, role: Role, purpose: string): void {
  assertRole(callerOf(request), app, role, purpose);
}

/** Checks a role of a caller in an app. @throws MeshError `permission_denied` */
export function assertRole(caller: Caller, app: string, role: Role, purpose: string): void {
  if (!hasRole(caller, app, role)) throw missingRole(caller, role, app, purpose);
}

/** Checks that the caller of a request may write this state. @throws MeshError `permission_denied` */
export function assertMayWriteState(
  request: FastifyRequest,
  app: string,
  state: Readonly<Record<string, unknown>> | null | undefined,
): void {
  const shared = Object.keys(state ?? {}).find((name) => name.startsWith('app:'));
  if (shared !== undefined)
    assertCallerRole(request, app, 'operator', `to change ${shared}, which all users share`);
}

function missingRole(caller: Caller, role: Role, app: string | undefined, purpose: string): MeshError {
  const where = app === undefined ? '' : ` in app ${app}`;
  return new MeshError(
    'permission_denied',
    `${nameOf(caller)} needs the role ${role}${where} ${purpose}; ask an operator of the mesh for it`,
    { details: { role, ...(app !== undefined && { app }) } },
  );
}

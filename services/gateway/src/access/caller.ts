import type { Caller as MeshCaller } from '@agentmesh/protocol';
import type { FastifyRequest } from 'fastify';
import { includesRole, type Role } from '../context/role.ts';

/** The authenticated sender of a request. */
export interface Caller {
  /** The way by which the caller was authenticated: `none`, `proxy`, `keys`, `oidc`. */
  readonly via: string;
  /** The user for whom the caller acts; absent for a service, and for `none`: these act for the user of a request. */
  readonly user?: string;
  /** The roles: `operator` for all apps, `shop:operator` for the app shop. */
  readonly roles: readonly string[];
  /** The name of the API key. */
  readonly key?: string;
}

/** The caller of a gateway that authenticates nobody: it may do everything, and has no roles of its own. */
export const anyCaller: Caller = { via: 'none', roles: ['admin'] };

const callers = new WeakMap<FastifyRequest, Caller>();

/** Notes the authenticated caller of a request. */
export function noteCaller(request: FastifyRequest, caller: Caller): void {
  callers.set(request, caller);
}

/** Returns the caller of a request that was admitted. @throws Error for any other request: a defect */
export function callerOf(request: FastifyRequest): Caller {
  const caller = callers.get(request);
  if (caller) return caller;
  throw new Error('the request was not admitted: its route has no check of access');
}

/** Returns the caller of a request, if it was authenticated. */
export function knownCallerOf(request: FastifyRequest): Caller | undefined {
  return callers.get(request);
}

/** Returns the name under which the caller of a request is counted: without credentials, its address. */
export function countedAs(request: FastifyRequest): string {
  const { via, user, key } = knownCallerOf(request) ?? {};
  if (key !== undefined) return `key ${key}`;
  return user === undefined ? `address ${request.ip}` : `${via} ${user}`;
}

/** Returns the roles of a caller in an app. */
function rolesIn({ roles }: Caller, app: string): string[] {
  return [...new Set(roles.flatMap((role) => [role, ...withoutApp(role, app), ...withoutApp(role, '*')]))];
}

function withoutApp(role: string, app: string): string[] {
  return role.startsWith(`${app}:`) ? [role.slice(app.length + 1)] : [];
}

/** Tells whether a caller has a role in an app. */
export function hasRole(caller: Caller, app: string, role: Role): boolean {
  return includesRole(rolesIn(caller, app), role);
}

/**
 * Tells whether a caller has a role in any app. What the role opens shows the data of this app alone. A role of another
 * system, such as `urn:corp:operator`, is none of ours.
 */
export function hasRoleAnywhere({ roles }: Caller, role: Role): boolean {
  return includesRole(
    roles.flatMap((each) => [each, each.slice(each.indexOf(':') + 1)]),
    role,
  );
}

/**
 * Returns the person who gives an answer in a session of a user. A caller without a user of its own counts as
 * the user of the session: it cannot vouch for anybody else, so it is not an approver who differs from the asker.
 */
export function personOf(caller: Caller, app: string, userId: string): { name: string; roles?: string[] } {
  const name = caller.user ?? userId;
  return caller.via === anyCaller.via ? { name } : { name, roles: rolesIn(caller, app) };
}

/** Returns the caller as agents and tools see it in an app; undefined when nobody was authenticated. */
export function vouchedCaller(caller: Caller, app: string): MeshCaller | undefined {
  const { via, user, key } = caller;
  if (via === anyCaller.via) return undefined;
  return {
    via,
    roles: rolesIn(caller, app),
    ...(user !== undefined && { user }),
    ...(key !== undefined && { key }),
  };
}

/** Returns a name of the caller for people: the user, the key, or both. */
export function nameOf({ via, user, key }: Caller): string {
  const names = [...(key === undefined ? [] : [`key ${key}`]), ...(user === undefined ? [] : [user])];
  return names.length === 0 ? `a caller by ${via}` : names.join(' of ');
}

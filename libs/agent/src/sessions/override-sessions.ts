import type { SessionService } from './session-service.ts';

type Contract = 'log' | 'leases' | 'invocations' | 'pending' | 'users' | 'overview';

/** Members that replace the members of a session service and of its contracts. */
export type SessionOverrides = Partial<Omit<SessionService, Contract>> & {
  [C in Contract]?: Partial<SessionService[C]>;
};

/**
 * Wraps a session service: the given members replace the members of the service, and all other members call
 * the service.
 */
export function overrideSessions(sessions: SessionService, overrides: SessionOverrides): SessionService {
  return override(sessions, {
    ...overrides,
    log: override(sessions.log, overrides.log),
    leases: override(sessions.leases, overrides.leases),
    invocations: override(sessions.invocations, overrides.invocations),
    pending: override(sessions.pending, overrides.pending),
    users: override(sessions.users, overrides.users),
    overview: override(sessions.overview, overrides.overview),
  });
}

function override<T extends object>(target: T, overrides: Partial<T> | undefined): T {
  if (!overrides) return target;
  const members = memberNames(target).map((name): [string, unknown] => {
    const read = (): unknown => Reflect.get(target, name);
    const value = read();
    if (typeof value !== 'function') return [name, value];
    // The method is called on the target, so that private fields work. It is looked up with each call,
    // because it may have been replaced meanwhile.
    return [name, (...args: unknown[]) => Reflect.apply(read() as typeof value, target, args)];
  });
  return { ...(Object.fromEntries(members) as T), ...overrides };
}

/** Lists the member names of an object and of its classes; a spread would lose the members of the classes. */
function memberNames(target: object): string[] {
  const names = new Set<string>();
  for (let at = target; at && at !== Object.prototype; at = Object.getPrototypeOf(at))
    for (const name of Object.getOwnPropertyNames(at)) names.add(name);
  names.delete('constructor');
  return [...names];
}

import type { SessionService } from './session-service.ts';

type Contract = 'log' | 'leases' | 'invocations' | 'pending' | 'users';

/** Members of a session service, and of its contracts, that take the place of another one's. */
export type SessionOverrides = Partial<Omit<SessionService, Contract>> & {
  [C in Contract]?: Partial<SessionService[C]>;
};

/** Makes a session service of another one: the given members are its own, all others call that one. */
export function overrideSessions(sessions: SessionService, own: SessionOverrides): SessionService {
  return override(sessions, {
    ...own,
    log: override(sessions.log, own.log),
    leases: override(sessions.leases, own.leases),
    invocations: override(sessions.invocations, own.invocations),
    pending: override(sessions.pending, own.pending),
    users: override(sessions.users, own.users),
  });
}

function override<T extends object>(target: T, own: Partial<T> | undefined): T {
  if (!own) return target;
  const members = memberNames(target).map((name): [string, unknown] => {
    const read = (): unknown => Reflect.get(target, name);
    const value = read();
    if (typeof value !== 'function') return [name, value];
    // Called on the target: its private fields are its own. Looked up with each call: it may have been replaced meanwhile.
    return [name, (...args: unknown[]) => Reflect.apply(read() as typeof value, target, args)];
  });
  return { ...(Object.fromEntries(members) as T), ...own };
}

/** Names the members of an object, those of its classes too: a spread loses them. */
function memberNames(target: object): string[] {
  const names = new Set<string>();
  for (let at = target; at && at !== Object.prototype; at = Object.getPrototypeOf(at))
    for (const name of Object.getOwnPropertyNames(at)) names.add(name);
  names.delete('constructor');
  return [...names];
}

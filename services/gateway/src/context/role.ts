/** The roles of callers, from the least to the greatest. Each includes those before it. */
export const roles = ['user', 'approver', 'operator', 'admin'] as const;

/**
 * A role of a caller in an app. A `user` acts for one user, an `approver` also answers confirmations in the
 * sessions of others, an `operator` acts for every user, and an `admin` may use every route.
 */
export type Role = (typeof roles)[number];

/** Tells whether one of the held roles is the wanted one, or a greater one. */
export function includesRole(held: readonly string[], wanted: Role): boolean {
  return roles.slice(roles.indexOf(wanted)).some((role) => held.includes(role));
}

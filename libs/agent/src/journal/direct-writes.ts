import { isDeepStrictEqual } from 'node:util';
import { pickScopes } from '../events/state.ts';
import type { Session } from '../sessions/session.ts';

/** By session: its own and the `temp:` state, as it was before user code ran. */
const before = new WeakMap<Session, Record<string, unknown>>();

const ownState = ({ state }: Session) => pickScopes(state, ['session', 'temp']);

/**
 * Notes the state of a session before user code runs. Such code may write `session.state` directly, which no event
 * holds.
 */
export function noteState(session: Session): void {
  if (!before.has(session)) before.set(session, structuredClone(ownState(session)));
}

/** Returns the state, by key, that differs from the noted one; empty when nothing was noted. */
export function directWrites(session: Session): Record<string, unknown> {
  const noted = before.get(session);
  if (!noted) return {};
  const changed = Object.entries(ownState(session)).filter(
    ([key, value]) => !isDeepStrictEqual(noted[key], value),
  );
  return Object.fromEntries(changed);
}

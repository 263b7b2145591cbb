import type { Event, EventActions, MeshError } from '@agentmesh/protocol';
import { expect } from 'vitest';
import type { InvocationRef } from '../../sessions/invocations.ts';
import type { Session } from '../../sessions/session.ts';
import type { HeldSession } from '../../sessions/session-leases.ts';
import type { SessionService } from '../../sessions/session-service.ts';

/** Number of events made so far. */
let made = 0;

/** Returns the service of the current test. */
export type TheService = () => SessionService;

export const appName = 'shop';

export const userId = 'ann';

/** Takes the session for an invocation, and fails when it is busy. Returns the token. */
export async function take(
  service: SessionService,
  ref: InvocationRef,
  run = `run of ${ref.invocationId}`,
): Promise<number> {
  const taken = await service.leases.take(ref, { run, whenBusy: 'enqueue' });
  if (taken.state !== 'held') throw new Error(`the session is ${taken.state}`);
  return taken.token;
}

export function eventOf(
  fields: Partial<Omit<Event, 'actions'>> & { actions?: Partial<EventActions> } = {},
): Event {
  made += 1;
  const none = {
    stateDelta: {},
    artifactDelta: {},
    requestedAuthConfigs: {},
    requestedToolConfirmations: {},
  };
  return {
    id: `event-${made}`,
    invocationId: 'inv-1',
    author: 'helper',
    timestamp: 1_700_000_000_000 + made,
    ...fields,
    actions: { ...none, ...fields.actions },
  };
}

/** Makes an event that only changes state. */
export const deltaOf = (stateDelta: Record<string, unknown>, fields: Partial<Omit<Event, 'actions'>> = {}) =>
  eventOf({ ...fields, actions: { stateDelta } });

export const refOf = ({ appName, userId, id }: Session) => ({ appName, userId, sessionId: id });

/**
 * Reads the session from the store.
 *
 * @throws Error when it is gone
 */
export async function reread(service: SessionService, session: Session): Promise<Session> {
  const found = await service.getSession(refOf(session));
  if (!found) throw new Error(`session ${session.id} is gone`);
  return found;
}

/** Matches a MeshError with this code, for `toMatchObject` and `rejects`. */
export const meshError = (code: MeshError['code']) => ({ name: 'MeshError', code });

/** Matches a session that is held, for `toEqual`; by default one without events, at the first attempt. */
export function held(fields: Partial<HeldSession> & Pick<HeldSession, 'token' | 'begun'>): HeldSession {
  return {
    state: 'held',
    seq: 0,
    incarnation: expect.stringMatching(/./),
    attempt: 1,
    record: expect.objectContaining({ status: 'running', home: 's' }),
    mark: expect.any(String),
    ...fields,
  };
}

/** Returns functions for the runs of one session, which have numbers as names. */
export function numberedRuns(service: TheService) {
  const session = { appName, userId, sessionId: 's' };
  const inv = (n: number | string) => ({ ...session, invocationId: `inv-${n}` });
  const create = () => service().createSession(session);
  const run = (n: number | string) => `run of inv-${n}`;
  const queue = (n: number | string, whenBusy: 'enqueue' | 'reject' | 'interrupt' = 'enqueue') =>
    service().leases.take(inv(n), { run: run(n), whenBusy });
  const end = (n: number | string) => service().invocations.end(inv(n), { status: 'completed' });
  /** Gives the session to the next run in the queue, as the mesh does. */
  async function promote() {
    const next = await service().leases.nextRun(session);
    if (next === undefined) return undefined;
    await service().leases.promote(inv(next.run.slice('run of inv-'.length)), { run: next.run });
    return next.run;
  }
  return { session, inv, run, create, queue, end, promote };
}

import type { Event, EventActions, MeshError } from '@agentmesh/protocol';
import { afterEach, beforeEach, describe } from 'vitest';
import type { InvocationRef, Session, SessionService } from '../session-service.ts';
import { committing } from './committing.ts';
import { continuing } from './continuing.ts';
import { fencing } from './fencing.ts';
import { history } from './history.ts';
import { invocations } from './invocations.ts';
import { leases } from './leases.ts';
import { pending } from './pending.ts';
import { reading } from './reading.ts';
import { sessions } from './sessions.ts';
import { stateScopes } from './state-scopes.ts';
import { strangeValues } from './strange-values.ts';
import { turns } from './turns.ts';
import { users } from './users.ts';

/** Makes a service on an empty store of its own. */
export type MakeSessionService = () => Promise<{ service: SessionService; dispose(): PromiseLike<void> }>;

/** Gives the service of the running test. */
export type TheService = () => SessionService;

/** The contract of `SessionService` as tests: call it in a test file of every implementation. */
export function sessionServiceConformance(name: string, make: MakeSessionService): void {
  describe(`${name} as a session service`, () => {
    let made: Awaited<ReturnType<MakeSessionService>>;
    beforeEach(async () => {
      made = await make();
    });
    afterEach(async () => await made.dispose());
    const service = () => made.service;
    describe('sessions', () => sessions(service));
    describe('state scopes', () => stateScopes(service));
    describe('committing', () => committing(service));
    describe('reading', () => reading(service));
    describe('turns', () => turns(service));
    describe('history', () => history(service));
    describe('strange names and values', () => strangeValues(service));
    describe('invocations', () => invocations(service));
    describe('fencing', () => fencing(service));
    describe('leases', () => leases(service));
    describe('runs that continue an invocation', () => continuing(service));
    describe('pending calls', () => pending(service));
    describe('what is kept of a user', () => users(service));
  });
}

export const appName = 'shop';
export const userId = 'ann';

/** Takes the session for an invocation, which must be possible now. Returns its token. */
export async function take(service: SessionService, ref: InvocationRef): Promise<number> {
  const taken = await service.takeSession(ref, { run: `run of ${ref.invocationId}`, whenBusy: 'enqueue' });
  if (taken.state !== 'held') throw new Error(`the session is ${taken.state}`);
  return taken.token;
}

let made = 0;

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

/** An event that does nothing but change state. */
export const deltaOf = (stateDelta: Record<string, unknown>, fields: Partial<Omit<Event, 'actions'>> = {}) =>
  eventOf({ ...fields, actions: { stateDelta } });

export const refOf = ({ appName, userId, id }: Session) => ({ appName, userId, sessionId: id });

/** The session as the store has it now. @throws Error when it is gone */
export async function reread(service: SessionService, session: Session): Promise<Session> {
  const found = await service.getSession(refOf(session));
  if (!found) throw new Error(`session ${session.id} is gone`);
  return found;
}

/** For `toMatchObject` and `rejects`: an error of the mesh with this code. */
export const meshError = (code: MeshError['code']) => ({ name: 'MeshError', code });

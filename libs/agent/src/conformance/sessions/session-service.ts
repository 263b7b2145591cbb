import { afterEach, beforeEach, describe } from 'vitest';
import type { SessionService } from '../../sessions/session-service.ts';
import { committing } from './committing.ts';
import { continuing } from './continuing.ts';
import { fencing } from './fencing.ts';
import { history } from './history.ts';
import { invocations } from './invocations.ts';
import { leases } from './leases.ts';
import { newRuns } from './new-runs.ts';
import { overview } from './overview.ts';
import { pending } from './pending.ts';
import { reading } from './reading.ts';
import { runOrder } from './run-order.ts';
import { sessions } from './sessions.ts';
import { stateScopes } from './state-scopes.ts';
import { strangeValues } from './strange-values.ts';
import { turns } from './turns.ts';
import { userShares } from './user-shares.ts';
import { users } from './users.ts';

/** A function that makes a service on an empty store. */
export type MakeSessionService = () => Promise<{ service: SessionService; dispose(): PromiseLike<void> }>;

/** Tests that every `SessionService` must pass; call it in a test file of each implementation. */
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
    describe('new runs', () => newRuns(service));
    describe('order of runs', () => runOrder(service));
    describe('shares of users', () => userShares(service));
    describe('runs that continue an invocation', () => continuing(service));
    describe('pending calls', () => pending(service));
    describe('the records of a user', () => users(service));
    describe('the lists over all users', () => overview(service));
  });
}

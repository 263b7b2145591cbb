import type { SessionRef } from '@agentmesh/protocol';
import { runOfName } from '../../events/run-ids.ts';
import type { InvocationRef } from '../invocations.ts';
import type { DeletedRecords, KeptSession, UserOwner, UserRecords } from '../user-records.ts';
import { withPrefix } from './event-log.ts';
import { isRunOf } from './overview.ts';
import type { InMemoryPendingCalls } from './pending-calls.ts';
import type { Tables } from './tables.ts';

export class InMemoryUserRecords implements UserRecords {
  readonly #tables: Tables;
  readonly #pending: InMemoryPendingCalls;

  constructor(tables: Tables, pending: InMemoryPendingCalls) {
    this.#tables = tables;
    this.#pending = pending;
  }

  async sessionIds(user: UserOwner): Promise<string[]> {
    return [...this.#tables.sessionsOf(user).values()].map(({ id }) => id);
  }

  async readSession(ref: SessionRef): Promise<KeptSession | undefined> {
    const stored = this.#tables.findSession(ref);
    if (!stored) return undefined;
    const { id: sessionId, hidden, created, updated, events, state, initial } = stored;
    const states = { state: withPrefix('', state), initialState: withPrefix('', initial) };
    return { sessionId, hidden, created, updated, seq: events.length, ...states };
  }

  async hasSession(ref: SessionRef): Promise<boolean> {
    return this.#tables.findSession(ref) !== undefined;
  }

  async runsIn(ref: SessionRef): Promise<InvocationRef[]> {
    const { keys, leases } = this.#tables;
    return leases.runsOf(keys.session(ref)).map((name) => ({ ...ref, ...runOfName(name) }));
  }

  async readState(user: UserOwner): Promise<Record<string, unknown>> {
    return withPrefix('user:', this.#tables.findUser(user)?.state);
  }

  async forgetQueue(ref: SessionRef): Promise<void> {
    this.#tables.leases.forget(this.#tables.keys.session(ref));
  }

  async deleteRest({ appName, userId }: UserOwner): Promise<DeletedRecords> {
    const user = this.#tables.findUser({ appName, userId });
    const [stateKeys, others] = [user?.state?.size ?? 0, user?.invocations.size ?? 0];
    delete user?.state;
    user?.invocations.clear();
    this.#tables.recentRuns.forget(isRunOf({ appName, userId }));
    return { stateKeys, pending: this.#pending.forgetUser({ appName, userId }), others };
  }
}

import type { SessionRef } from '@agentmesh/protocol';
import type { InvocationRef } from '../invocations.ts';
import { mostRecentRuns, type Overview, type RecentRun, type RecentRunsPage } from '../overview.ts';
import type { UserOwner } from '../user-records.ts';
import type { InMemoryPendingCalls } from './pending-calls.ts';

/** The recent runs of each app, oldest first. */
export class RecentRunTable {
  readonly #apps = new Map<string, RecentRun[]>();

  /** Notes that a run came to a replica. A run that continues its invocation comes to the front again. */
  note({ resume, ...ref }: InvocationRef, agent: string | undefined): void {
    const runs = this.of(ref.appName);
    const found = runs.find(({ invocationId }) => invocationId === ref.invocationId);
    if (found && resume === undefined) return;
    const others = runs.filter((run) => run !== found);
    // No two runs have the same time, so that a page ends at one run.
    const since = Math.max(Date.now(), (others.at(-1)?.since ?? 0) + 0.001);
    const first = found?.agent ?? agent;
    const { appName, userId, sessionId, invocationId } = ref;
    others.push({
      appName,
      userId,
      sessionId,
      invocationId,
      ...(first !== undefined && { agent: first }),
      since,
    });
    this.#apps.set(ref.appName, others.slice(-mostRecentRuns));
  }

  forget(isGone: (run: RecentRun) => boolean): void {
    for (const [app, runs] of this.#apps)
      this.#apps.set(
        app,
        runs.filter((run) => !isGone(run)),
      );
  }

  of(app: string): RecentRun[] {
    return this.#apps.get(app) ?? [];
  }
}

/** Tells whether a run belongs to a session, or to any session of a user. */
export function isRunOf({ appName, userId, sessionId }: UserOwner & Partial<SessionRef>) {
  return (run: RecentRun) =>
    run.appName === appName &&
    run.userId === userId &&
    (sessionId === undefined || run.sessionId === sessionId);
}

/** The lists over all users in this process. */
export class InMemoryOverview implements Overview {
  readonly #runs: RecentRunTable;
  readonly #pending: InMemoryPendingCalls;

  constructor(runs: RecentRunTable, pending: InMemoryPendingCalls) {
    this.#runs = runs;
    this.#pending = pending;
  }

  async recentRuns(app: string, { limit, before = Number.POSITIVE_INFINITY }: RecentRunsPage) {
    const runs = this.#runs.of(app).filter(({ since }) => since < before);
    return structuredClone(runs.toReversed().slice(0, limit));
  }

  async findRun(app: string, invocationId: string): Promise<RecentRun | undefined> {
    return structuredClone(this.#runs.of(app).find((run) => run.invocationId === invocationId));
  }

  async waitingUsers(app: string, limit: number): Promise<UserOwner[]> {
    return this.#pending.waitingUsers(app).slice(0, limit);
  }
}

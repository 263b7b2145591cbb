import type { SessionRef } from '@agentmesh/protocol';
import { defaultLeaseMs, type WhenBusy } from '../session-leases.ts';

interface Lease {
  ref: SessionRef;
  /** The run that has the session, and the end of its lease (ms). */
  holder?: { id: string; until: number };
  /** Waiting runs in the order of the queue, each with its message to publish. */
  waiting: [id: string, run: string][];
  lookedAt: number;
}

/** The leases and queues of the sessions in this process: the twin of the scripts on Redis. */
export class LeaseTable {
  readonly #leases = new Map<string, Lease>();
  #looks = 0;

  /**
   * Gives the session to the run, or puts the run into the queue. Returns the holder, or `queue` when another
   * run is first.
   */
  take(
    key: string,
    ref: SessionRef,
    id: string,
    { run, whenBusy, leaseMs = defaultLeaseMs }: { run: string; whenBusy: WhenBusy; leaseMs?: number },
  ): { held: true } | { held: false; holder?: string } {
    const lease = this.#leaseOf(key, ref);
    const holder = currentHolder(lease);
    const first = lease.waiting[0]?.[0] ?? id;
    if (holder === id || (holder === undefined && first === id)) {
      lease.holder = { id, until: Date.now() + leaseMs };
      lease.waiting = lease.waiting.filter(([each]) => each !== id);
      return { held: true };
    }
    const waitingEntry = lease.waiting.find(([each]) => each === id);
    if (waitingEntry) waitingEntry[1] = run;
    else if (whenBusy !== 'reject') {
      if (whenBusy === 'interrupt') lease.waiting.unshift([id, run]);
      else lease.waiting.push([id, run]);
    }
    return { held: false, ...(holder !== undefined && { holder }) };
  }

  renew(key: string, id: string, leaseMs = defaultLeaseMs): boolean {
    const { holder } = this.#leases.get(key) ?? {};
    if (holder?.id !== id) return false;
    holder.until = Date.now() + leaseMs;
    return true;
  }

  /** Tells whether another run has the session. */
  isOthers(key: string, id: string): boolean {
    const { holder } = this.#leases.get(key) ?? {};
    return holder !== undefined && holder.id !== id;
  }

  /** Returns the run that has the session now. */
  holderOf(key: string): string | undefined {
    const lease = this.#leases.get(key);
    return lease && currentHolder(lease);
  }

  /** Returns the run that has the session, and the waiting runs. */
  runsOf(key: string): string[] {
    const waiting = (this.#leases.get(key)?.waiting ?? []).map(([each]) => each);
    return [this.holderOf(key) ?? [], waiting].flat();
  }

  /** Deletes the holder and the queue of a session. */
  forget(key: string): void {
    this.#leases.delete(key);
  }

  /** Returns the waiting runs with this name, or with this prefix. */
  waitingOf(key: string, id: string, prefix?: string): string[] {
    const names = (this.#leases.get(key)?.waiting ?? []).map(([each]) => each);
    return names.filter((each) => each === id || (prefix !== undefined && each.startsWith(prefix)));
  }

  /** Removes an ended run from the session and from its queue. */
  leave(key: string, id: string): void {
    const lease = this.#leases.get(key);
    if (!lease) return;
    if (lease.holder?.id === id) delete lease.holder;
    lease.waiting = lease.waiting.filter(([each]) => each !== id);
    if (!lease.holder && lease.waiting.length === 0) this.#leases.delete(key);
  }

  /** Removes the holder of a deleted session. The waiting runs still get a result. */
  free(key: string): void {
    const lease = this.#leases.get(key);
    if (lease) delete lease.holder;
  }

  next(key: string): string | undefined {
    const lease = this.#leases.get(key);
    return lease && currentHolder(lease) === undefined ? lease.waiting[0]?.[1] : undefined;
  }

  promote(key: string, id: string, leaseMs = defaultLeaseMs): void {
    const lease = this.#leases.get(key);
    if (!lease || currentHolder(lease) !== undefined || lease.waiting[0]?.[0] !== id) return;
    lease.holder = { id, until: Date.now() + leaseMs };
    lease.waiting.shift();
  }

  sessionsWithWaiting(limit: number): SessionRef[] {
    const dueLeases = [...this.#leases.values()]
      .filter(({ waiting }) => waiting.length > 0)
      .sort((a, b) => a.lookedAt - b.lookedAt)
      .slice(0, limit);
    for (const lease of dueLeases) {
      this.#looks += 1;
      lease.lookedAt = this.#looks;
    }
    return dueLeases.map(({ ref }) => ({ ...ref }));
  }

  #leaseOf(key: string, { appName, userId, sessionId }: SessionRef): Lease {
    const existing = this.#leases.get(key);
    if (existing) return existing;
    const lease: Lease = { ref: { appName, userId, sessionId }, waiting: [], lookedAt: 0 };
    this.#leases.set(key, lease);
    return lease;
  }
}

function currentHolder({ holder }: Lease): string | undefined {
  return holder && holder.until > Date.now() ? holder.id : undefined;
}

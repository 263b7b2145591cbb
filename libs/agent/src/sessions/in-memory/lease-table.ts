import type { SessionRef } from '@agentmesh/protocol';
import { defaultLeaseMs, type WhenBusy } from '../session-leases.ts';

interface Lease {
  ref: SessionRef;
  /** The run that has the session, until when (ms). */
  holder?: { id: string; until: number };
  /** Run → what to publish, in the order of the queue. */
  waiting: [id: string, run: string][];
  lookedAt: number;
}

/** Who has a session and who waits for it, in this process; the twin of the scripts on Redis. */
export class LeaseTable {
  readonly #leases = new Map<string, Lease>();
  #looks = 0;

  /** Gives the run the session, or keeps it in the queue. Returns the holder, or `queue` when somebody else is first. */
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
    const own = lease.waiting.find(([each]) => each === id);
    if (own) own[1] = run;
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

  /** Does another run have the session? */
  isOthers(key: string, id: string): boolean {
    const { holder } = this.#leases.get(key) ?? {};
    return holder !== undefined && holder.id !== id;
  }

  /** The run that has the session now. */
  holderOf(key: string): string | undefined {
    const lease = this.#leases.get(key);
    return lease && currentHolder(lease);
  }

  /** The run that has the session, and those that wait. */
  runsOf(key: string): string[] {
    const waiting = (this.#leases.get(key)?.waiting ?? []).map(([each]) => each);
    return [this.holderOf(key) ?? [], waiting].flat();
  }

  /** Nobody has the session or waits for it any more. */
  forget(key: string): void {
    this.#leases.delete(key);
  }

  /** Those that wait and are this one, or begin so. */
  waitingOf(key: string, id: string, prefix?: string): string[] {
    const names = (this.#leases.get(key)?.waiting ?? []).map(([each]) => each);
    return names.filter((each) => each === id || (prefix !== undefined && each.startsWith(prefix)));
  }

  /** The run has ended: it has neither the session nor a place in the queue. */
  leave(key: string, id: string): void {
    const lease = this.#leases.get(key);
    if (!lease) return;
    if (lease.holder?.id === id) delete lease.holder;
    lease.waiting = lease.waiting.filter(([each]) => each !== id);
    if (!lease.holder && lease.waiting.length === 0) this.#leases.delete(key);
  }

  /** Without its session nobody has it; those who wait are still to be told. */
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
    const found = [...this.#leases.values()]
      .filter(({ waiting }) => waiting.length > 0)
      .sort((a, b) => a.lookedAt - b.lookedAt)
      .slice(0, limit);
    for (const lease of found) {
      this.#looks += 1;
      lease.lookedAt = this.#looks;
    }
    return found.map(({ ref }) => ({ ...ref }));
  }

  #leaseOf(key: string, { appName, userId, sessionId }: SessionRef): Lease {
    const known = this.#leases.get(key);
    if (known) return known;
    const lease: Lease = { ref: { appName, userId, sessionId }, waiting: [], lookedAt: 0 };
    this.#leases.set(key, lease);
    return lease;
  }
}

function currentHolder({ holder }: Lease): string | undefined {
  return holder && holder.until > Date.now() ? holder.id : undefined;
}

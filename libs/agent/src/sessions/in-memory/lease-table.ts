import type { SessionRef } from '@agentmesh/protocol';
import { defaultLeaseMs, type TakeOptions } from '../session-leases.ts';

interface Holder {
  /** Name of the run. */
  id: string;
  /** The run as text; '' for work that no message can bring again. */
  run: string;
  /** Time after which the holder counts as silent, epoch ms. */
  until: number;
  /** Number of times that its run was asked for. */
  asked: number;
  /** Time from which its run may be asked for again, epoch ms. */
  again: number;
}

interface WaitingRun {
  id: string;
  run: string;
  /** The order in the queue; below 0 for a run that interrupts. */
  score: number;
}

interface Lease {
  ref: SessionRef;
  holder?: Holder;
  /** In the order of the queue. */
  waiting: WaitingRun[];
  lookedAt: number;
}

/** A run that wants the session. */
export interface Candidate extends Pick<TakeOptions, 'run' | 'whenBusy' | 'leaseMs' | 'earlier'> {
  /** Place of the run in the order of acceptance, if it has one. */
  place: number | undefined;
  /** True if the run has had the session before. */
  isBegun: boolean;
}

/** The leases and queues of the sessions in this process: the twin of the scripts on Redis. */
export class LeaseTable {
  readonly #leases = new Map<string, Lease>();
  #looks = 0;

  /** Gives the session to the run, or puts the run into the queue. Returns the place that the run got. */
  take(
    key: string,
    ref: SessionRef,
    id: string,
    candidate: Candidate,
  ): { held: true } | { held: false; holder?: string; place?: number } {
    const lease = this.#leaseOf(key, ref);
    const { run, whenBusy, leaseMs } = candidate;
    if (!mustWait(lease, id, candidate)) {
      lease.holder = holderOf(id, run, leaseMs);
      lease.waiting = lease.waiting.filter((each) => each.id !== id);
      return { held: true };
    }
    const other = lease.holder && lease.holder.id !== id ? { holder: lease.holder.id } : {};
    if (whenBusy === 'reject') return { held: false, ...other };
    if (lease.holder?.id === id) delete lease.holder;
    const place = candidate.place ?? Math.max(lease.waiting.at(-1)?.score ?? 0, 0) + 1;
    const known = lease.waiting.find((each) => each.id === id);
    if (known) known.run = run;
    else {
      lease.waiting.push({ id, run, score: scoreOf(whenBusy, place) });
      lease.waiting.sort((one, another) => one.score - another.score);
    }
    return { held: false, ...other, place };
  }

  renew(key: string, id: string, leaseMs = defaultLeaseMs): boolean {
    const { holder } = this.#leases.get(key) ?? {};
    if (holder?.id !== id) return false;
    Object.assign(holder, { until: Date.now() + leaseMs, asked: 0, again: 0 });
    return true;
  }

  /** Returns the run that has the session. */
  holderOf(key: string): string | undefined {
    return this.#leases.get(key)?.holder?.id;
  }

  /** Tells whether the run has the session and has given a sign of life. */
  isAlive(key: string, id: string): boolean {
    const { holder } = this.#leases.get(key) ?? {};
    return holder?.id === id && holder.until > Date.now();
  }

  /** Returns the run that has the session, and the waiting runs. */
  runsOf(key: string): string[] {
    const waiting = (this.#leases.get(key)?.waiting ?? []).map(({ id }) => id);
    return [this.holderOf(key) ?? [], waiting].flat();
  }

  /** Deletes the holder and the queue of a session. */
  forget(key: string): void {
    this.#leases.delete(key);
  }

  /** Returns the waiting runs with this name, or with this prefix. */
  waitingOf(key: string, id: string, prefix?: string): string[] {
    const names = (this.#leases.get(key)?.waiting ?? []).map((each) => each.id);
    return names.filter((each) => each === id || (prefix !== undefined && each.startsWith(prefix)));
  }

  /** Removes an ended run from the session and from its queue. */
  leave(key: string, id: string): void {
    const lease = this.#leases.get(key);
    if (!lease) return;
    if (lease.holder?.id === id) delete lease.holder;
    lease.waiting = lease.waiting.filter((each) => each.id !== id);
    if (!lease.holder && lease.waiting.length === 0) this.#leases.delete(key);
  }

  /** Removes the holder of a deleted session. The waiting runs still get a result. */
  free(key: string): void {
    const lease = this.#leases.get(key);
    if (lease) delete lease.holder;
  }

  next(key: string): string | undefined {
    const lease = this.#leases.get(key);
    return lease?.holder ? undefined : lease?.waiting[0]?.run;
  }

  promote(key: string, id: string, leaseMs?: number): void {
    const lease = this.#leases.get(key);
    const [first] = lease?.waiting ?? [];
    if (!lease || lease.holder || first?.id !== id) return;
    lease.holder = holderOf(id, first.run, leaseMs);
    lease.waiting.shift();
  }

  /** Returns the holder if it is silent. */
  silentHolder(key: string): Readonly<Holder> | undefined {
    const { holder } = this.#leases.get(key) ?? {};
    return holder && Math.max(holder.until, holder.again) <= Date.now() ? holder : undefined;
  }

  noteAsked(key: string, id: string, leaseMs = defaultLeaseMs): boolean {
    const holder = this.silentHolder(key) as Holder | undefined;
    if (holder?.id !== id) return false;
    holder.again = Date.now() + leaseMs * 2 ** holder.asked;
    holder.asked += 1;
    return true;
  }

  busySessions(app: string, limit: number): SessionRef[] {
    const busyLeases = [...this.#leases.values()]
      .filter(
        ({ ref, waiting, holder }) => ref.appName === app && (holder !== undefined || waiting.length > 0),
      )
      .sort((a, b) => a.lookedAt - b.lookedAt)
      .slice(0, limit);
    for (const lease of busyLeases) {
      this.#looks += 1;
      lease.lookedAt = this.#looks;
    }
    return busyLeases.map(({ ref }) => ({ ...ref }));
  }

  #leaseOf(key: string, { appName, userId, sessionId }: SessionRef): Lease {
    const existing = this.#leases.get(key);
    if (existing) return existing;
    const lease: Lease = { ref: { appName, userId, sessionId }, waiting: [], lookedAt: 0 };
    this.#leases.set(key, lease);
    return lease;
  }
}

function mustWait(
  { holder, waiting: [first] }: Lease,
  id: string,
  { place, whenBusy, isBegun, earlier }: Candidate,
): boolean {
  if (holder && holder.id !== id) return true;
  if (holder && (isBegun || place === undefined)) return false;
  const score = place === undefined ? Number.POSITIVE_INFINITY : scoreOf(whenBusy, place);
  if (earlier !== undefined && place !== undefined && earlier < score) return true;
  return first !== undefined && first.id !== id && first.score < score;
}

function scoreOf(whenBusy: TakeOptions['whenBusy'], place: number): number {
  return whenBusy === 'interrupt' ? -place : place;
}

function holderOf(id: string, run: string, leaseMs = defaultLeaseMs): Holder {
  return { id, run, until: Date.now() + leaseMs, asked: 0, again: 0 };
}

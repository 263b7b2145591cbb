import type { SessionRef } from '@agentmesh/protocol';
import { defaultLeaseMs, type PromoteOptions, type TakeOptions } from '../session-leases.ts';
import type { UserOwner } from '../user-records.ts';

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
  /** True if it counts for the share of its user. */
  counts: boolean;
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
  /** True when its session was deleted. */
  isGone: boolean;
  lookedAt: number;
}

/** A run that wants the session. */
export interface Candidate extends Pick<TakeOptions, 'run' | 'whenBusy' | 'leaseMs' | 'earlier'> {
  /** Place of the run in the order of acceptance, if it has one. */
  place: number | undefined;
  /** True if the run has had the session before. */
  isBegun: boolean;
  /** Number of runs of the user that may be at work; undefined for work that does not count. */
  running: number | undefined;
  /** True if the run waits when the user has the full share. */
  isLimited: boolean;
  /** True if the run has waited before: it was published because it had its turn. */
  hasWaited: boolean;
  /** Number of runs of the user that may wait; default any number. */
  waiting: number | undefined;
  onlyWaits: boolean;
}

/** The result of a run that wants the session. */
type Taken =
  | { state: 'held' | 'refused' | 'free' }
  | { state: 'busy'; holder?: string; place?: number; isFull: boolean };

/** The leases and queues of the sessions in this process: the twin of the scripts on Redis. */
export class LeaseTable {
  readonly #leases = new Map<string, Lease>();

  /** True if no run has or wants a session. */
  get isEmpty(): boolean {
    return this.#leases.size === 0;
  }

  #looks = 0;

  /**
   * Gives the session to the run, or puts the run into the queue. Returns the place that the run got in the
   * queue.
   *
   * @param ref the session, which exists
   */
  take(key: string, ref: SessionRef, id: string, candidate: Candidate): Taken {
    const lease = this.#leaseOf(key, ref);
    lease.isGone = false;
    const { run, whenBusy, leaseMs, running, isBegun, onlyWaits } = candidate;
    const isBusy = mustWait(lease, id, candidate);
    const isLimited = candidate.isLimited && !isBegun && !lease.holder;
    const isFull = isLimited && !this.hasRoom(ref, running);
    if (!isBusy && !isFull && !(isLimited && this.#isBehind(lease, candidate))) {
      if (onlyWaits) return { state: 'free' };
      const counts = running !== undefined || (lease.holder?.id === id && lease.holder.counts);
      lease.holder = holderOf(id, run, { leaseMs, counts });
      lease.waiting = lease.waiting.filter((each) => each.id !== id);
      return { state: 'held' };
    }
    const other = lease.holder && lease.holder.id !== id ? { holder: lease.holder.id } : {};
    if (isBusy && whenBusy === 'reject') return { state: 'busy', ...other, isFull };
    const place = this.#wait(lease, id, candidate);
    return place === undefined ? { state: 'refused' } : { state: 'busy', ...other, place, isFull };
  }

  /** Puts the run into the queue. Returns its place; undefined when too many runs of the user wait. */
  #wait(lease: Lease, id: string, { run, whenBusy, place, waiting: most }: Candidate): number | undefined {
    const { waiting, ref } = lease;
    const known = waiting.find((each) => each.id === id);
    if (!known && most !== undefined && this.countWaiting(ref) >= most) return undefined;
    if (lease.holder?.id === id) delete lease.holder;
    const ownPlace = place ?? Math.max(waiting.at(-1)?.score ?? 0, 0) + 1;
    if (known) known.run = run;
    else {
      waiting.push({ id, run, score: scoreOf(whenBusy, ownPlace) });
      waiting.sort((one, another) => one.score - another.score);
    }
    return ownPlace;
  }

  /** Tells whether a run of the user may begin. A silent holder does not count. */
  hasRoom(user: UserOwner, running = Number.POSITIVE_INFINITY): boolean {
    const now = Date.now();
    return this.#ofUser(user).filter(({ holder }) => holder?.counts && holder.until > now).length < running;
  }

  countWaiting(user: UserOwner): number {
    return this.#ofUser(user).reduce((total, { waiting }) => total + waiting.length, 0);
  }

  /** Returns the sessions that no run has and for which a run waits, in the order of these runs. */
  ready(user: UserOwner): { ref: SessionRef; run: string }[] {
    return this.#readyLeases(user).flatMap(({ ref, waiting: [first] }) =>
      first ? [{ ref, run: first.run }] : [],
    );
  }

  #readyLeases(user: UserOwner): Lease[] {
    const ready = this.#ofUser(user).filter(
      ({ holder, waiting, isGone }) => !holder && !isGone && waiting.length > 0,
    );
    return ready.sort((one, another) => firstScore(one) - firstScore(another));
  }

  #isBehind(lease: Lease, { whenBusy, place, hasWaited }: Candidate): boolean {
    if (hasWaited) return false;
    const [first] = this.#readyLeases(lease.ref);
    return (
      first !== undefined &&
      first !== lease &&
      place !== undefined &&
      firstScore(first) < scoreOf(whenBusy, place)
    );
  }

  #ofUser({ appName, userId }: UserOwner): Lease[] {
    return [...this.#leases.values()].filter(({ ref }) => ref.appName === appName && ref.userId === userId);
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

  /** Tells whether no run has the session or waits for it, and no run of its user waits for a free session. */
  isIdle(user: UserOwner, key: string): boolean {
    return this.runsOf(key).length === 0 && this.ready(user).length === 0;
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
    if (!lease) return;
    delete lease.holder;
    lease.isGone = true;
  }

  /** Returns the first waiting run of a session that no run has. */
  next(key: string): string | undefined {
    const lease = this.#leases.get(key);
    return lease?.holder ? undefined : lease?.waiting[0]?.run;
  }

  promote(key: string, id: string, { run, running, leaseMs }: PromoteOptions): void {
    const lease = this.#leases.get(key);
    const [first] = lease?.waiting ?? [];
    if (!lease || lease.holder || first?.id !== id) return;
    if ((run !== undefined && run !== first.run) || !this.hasRoom(lease.ref, running)) return;
    lease.holder = holderOf(id, first.run, { leaseMs, counts: true });
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

  busyUsers(app: string, limit: number): UserOwner[] {
    const waits = [...this.#leases.values()].filter(
      ({ ref, waiting }) => ref.appName === app && waiting.length > 0,
    );
    const users = new Map(waits.map(({ ref: { appName, userId } }) => [userId, { appName, userId }]));
    return [...users.values()].slice(0, limit);
  }

  #leaseOf(key: string, { appName, userId, sessionId }: SessionRef): Lease {
    const existing = this.#leases.get(key);
    if (existing) return existing;
    const lease: Lease = { ref: { appName, userId, sessionId }, waiting: [], isGone: false, lookedAt: 0 };
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

const firstScore = ({ waiting: [first] }: Lease) => first?.score ?? Number.POSITIVE_INFINITY;

function scoreOf(whenBusy: TakeOptions['whenBusy'], place: number): number {
  return whenBusy === 'interrupt' ? -place : place;
}

function holderOf(
  id: string,
  run: string,
  { leaseMs = defaultLeaseMs, counts }: { leaseMs?: number | undefined; counts: boolean },
): Holder {
  return { id, run, until: Date.now() + leaseMs, asked: 0, again: 0, counts };
}

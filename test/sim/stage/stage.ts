import { every } from '@agentmesh/protocol';
import { createLogger } from '@agentmesh/service';
import type { Execution, Fault, Life as LifeRecord } from '../../chaos/check/history.ts';
import { now } from '../../chaos/check/history.ts';
import type { CountWork } from '../../chaos/effects.ts';
import { SimBroker } from '../broker/sim-broker.ts';
import { isOfPattern, tokensOf } from '../broker/subject-pattern.ts';
import type { StreamOptions } from '../broker/work-stream.ts';
import type { OpFault } from '../faults/op-fault.ts';
import { Ops } from '../faults/ops.ts';
import { noRates, type Rates } from '../faults/rates.ts';
import { inProcess, type Sabotage } from '../faults/sabotages.ts';
import { SimStore } from '../store/sim-store.ts';
import { type Life, lifeNow, newLife, runAs } from '../world/life.ts';
import { between } from '../world/random.ts';
import type { World } from '../world/world.ts';
import type { Part, Place, Replicas } from './place.ts';
import { names, type Site, startProcess } from './start-process.ts';

const cancellations = tokensOf(names.invocationCancel(every, every));
/** The time after which a new process comes for a dead one, in ms. */
const restartMs = [100, 400] as const;
/** The time for which a replica of the store that takes over had no writes, and the longest one, in ms. */
const failoverCutMs = 40;
const longestCutMs = 2_000;
/** The time without a server of the store at a failover, in ms. */
const promotionMs = 150;
/** The time for the work in hand of a process that is replaced, in ms. */
const graceMs = 2_000;

export interface StageOptions {
  world: World;
  replicas: Replicas;
  opFaults: readonly OpFault[];
  stream: Partial<StreamOptions>;
  sabotage: Sabotage | undefined;
  /** Whether writes to the store wait for its replica. */
  isReplicated: boolean;
  hasHttp: boolean;
}

/** Gets the lines of the log. One logger serves all processes, since making one takes a millisecond. */
let onLine = (_line: string): void => {};
const log = createLogger({
  ...{ service: 'sim', replica: 'sim', level: 'warn' },
  destination: { write: (line: string) => onLine(line) },
});

/** All processes of a mesh, with their server and their store. */
export class Stage {
  readonly world: World;
  readonly ops: Ops;
  readonly broker: SimBroker;
  readonly store: SimStore;
  readonly site: Site;
  readonly rates: Rates = { ...noRates };
  readonly places = new Map<string, Place>();
  readonly records: LifeRecord[] = [];
  readonly executions: Execution[] = [];
  readonly faults: Fault[] = [];
  /** True when no process is started any more. */
  isOver = false;
  /** The time after which no fault comes. */
  calmAt = 0;

  constructor({ world, replicas, opFaults, stream, sabotage, isReplicated, hasHttp }: StageOptions) {
    this.world = world;
    this.ops = new Ops({
      world,
      faults: opFaults,
      onCrash: (life) => this.#crash(life),
      onPause: (life, ms) => this.pause(life, ms),
      onFailover: () => {
        this.faults.push({ at: now(), kind: 'failover', target: 'redis', forMs: failoverCutMs });
        this.failOver(failoverCutMs);
      },
    });
    const wire = { world, ops: this.ops, rates: this.rates };
    this.broker = new SimBroker(wire, names, stream);
    this.broker.core.onArrival = (life, subject, sentAt) => {
      if (isOfPattern(cancellations, tokensOf(subject)))
        this.#record(life)?.unaware.push([now() - (world.time - sentAt), now()]);
    };
    this.store = new SimStore(wire, {
      ...{ isReplicated, answersEarly: sabotage === 'no-wait', keepsTime: sabotage !== 'own-clock' },
    });
    onLine = (line) => this.#line(line.trim());
    this.site = {
      ...{ broker: this.broker, store: this.store, log, sabotage: inProcess(sabotage), hasHttp },
      losesFrames: sabotage === 'lost-frame',
      countWork: (life) => this.#countWork(life),
      onError: (life, error, where) => {
        if (!life.dead) world.note(`${life.name} reports a defect at ${where}: ${String(error)}`);
      },
    };
    for (const [part, count] of Object.entries(replicas) as [Part, number][])
      for (let n = 1; n <= count; n += 1) this.#fill(`${part}/${n}`, part, '1.0.0');
  }

  get isReady(): boolean {
    return [...this.places.values()].every(({ running }) => running);
  }

  /** Tells whether nobody works and nothing waits. */
  async isQuiet(app: string): Promise<boolean> {
    const { stream } = this.broker;
    if (this.world.time < this.calmAt || this.broker.isCarrying || !this.store.wire.replica.isInStep)
      return false;
    if (stream.hasWork(['.dead.', '.audit.'])) return false;
    if ((await this.store.direct.sessions.leases.busySessions(app, 10)).length > 0) return false;
    const { claims, jobs } = await this.store.rest();
    return claims.length === 0 && jobs.length === 0;
  }

  place(name: string): Place {
    const place = this.places.get(name);
    if (!place) throw new Error(`there is no place ${name}`);
    return place;
  }

  ofPart(part: Part): Place[] {
    return [...this.places.values()].filter((place) => place.part === part);
  }

  /** Kills the process of a place. */
  kill(name: string): void {
    this.#crash(this.place(name).life);
  }

  /** Stops a process for a time (SIGSTOP, SIGCONT). */
  pause(life: Life, ms: number): void {
    if (life.dead) return;
    life.pausedUntil = Math.max(life.pausedUntil, this.world.time + ms);
    this.#record(life)?.pauses.push([now(), now() + ms]);
    this.world.note(`${life.name} is stopped for ${ms.toFixed(0)}`);
  }

  /** Cuts a process off from both servers for a time. */
  cut(life: Life, ms: number): void {
    this.broker.hold(life, ms);
    this.store.wire.cut(life, ms);
    this.#record(life)?.cutOffs.push([now(), now() + ms]);
  }

  /** Lets a replica of the store take over that lacks the writes of a time, from now on. */
  failOver(cutMs: number): void {
    this.store.wire.failOver(Math.min(cutMs, longestCutMs), promotionMs);
  }

  /** Replaces the processes of a part one after the other by those of another version, as a deployment does. */
  async roll(part: Part, version: string): Promise<void> {
    for (const { name } of this.ofPart(part)) {
      const place = this.place(name);
      const { life, running, died } = place;
      if (running?.served) {
        const { served, mesh } = running;
        const stop = async () => {
          await served.stop({ graceMs });
          await mesh.bus[Symbol.asyncDispose]();
        };
        await Promise.race([runAs(life, stop), died]);
      }
      place.version = version;
      this.#crash(life);
    }
  }

  #record(life: Life): LifeRecord | undefined {
    return this.records.find((record) => record.life === life.name);
  }

  #crash(life: Life): void {
    if (life.dead) return;
    life.dead = true;
    this.world.note(`${life.name} dies`);
    const record = this.#record(life);
    if (record) record.diedAt = now();
    this.broker.dropLife(life);
    this.world.at(0, () => this.ops.bury(life));
    const place = this.place(life.place);
    place.running = undefined;
    place.die();
    this.world.at(between(this.world.random, ...restartMs), () => {
      if (!this.isOver) this.#fill(place.name, place.part, place.version);
    });
  }

  /** Starts a process at a place. */
  #fill(name: string, part: Part, version: string): void {
    const lives = (this.places.get(name)?.lives ?? 0) + 1;
    const life = newLife(name, lives);
    const { promise: died, resolve: die } = Promise.withResolvers<void>();
    const place: Place = { name, part, version, life, lives, running: undefined, died, die };
    this.places.set(name, place);
    this.records.push({
      replica: name,
      life: life.name,
      startedAt: now(),
      pauses: [],
      cutOffs: [],
      unaware: [],
    });
    const number = this.records.length;
    const start = () => startProcess(this.site, life, { part, version, number });
    this.world.at(0, () =>
      runAs(life, start).then(
        (running) => {
          place.running = running;
          this.world.note(`${life.name} serves`);
        },
        (error: unknown) => {
          this.world.note(`${life.name} cannot start: ${String(error)}`);
          this.#crash(life);
        },
      ),
    );
  }

  #countWork(life: Life): CountWork {
    return (tool, { callId, invocationId }) =>
      this.ops.act(life, `effect ${tool}`, () => {
        const { place: replica, name } = life;
        const execution: Execution = { tool, callId, invocationId, replica, life: name, beganAt: now() };
        this.executions.push(execution);
        return () => {
          if (!life.dead) execution.endedAt = now();
        };
      });
  }

  #line(line: string): void {
    const life = lifeNow();
    if (life && !life.dead) this.world.aside(`${life.name} logs ${line}`);
  }
}

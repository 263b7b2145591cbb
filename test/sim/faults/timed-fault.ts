import { now } from '../../chaos/check/history.ts';
import type { Place } from '../stage/place.ts';
import type { Stage } from '../stage/stage.ts';

/** The time within which a server that loses its leader may forget an acknowledgement, in ms. */
const unsyncedMs = 300;
/** The longest time for which a connection is down, and for which the server of messages is away, in ms. */
const longestResetMs = 600;
const longestRestartMs = 1_000;
/** How far a wrong clock is off, in ms. */
const skewMs = 2 * 3_600_000;

/** Carries a fault out. The time is the fault's own. */
type CarryOut = (stage: Stage, place: Place, ms: number) => void;

/** The faults that come at a time. */
const carryOut = {
  kill: (stage, { name }) => stage.kill(name),
  killAll(stage, { part }) {
    for (const { name } of stage.ofPart(part)) stage.kill(name);
  },
  pause: (stage, { life }, ms) => stage.pause(life, ms),
  cut: (stage, { life }, ms) => stage.cut(life, ms),
  cutFromStore: (stage, { life }, ms) => stage.store.wire.cut(life, ms),
  hold: (stage, { life }, ms) => stage.broker.hold(life, ms),
  reset: (stage, { life }, ms) => stage.broker.reset(life, Math.min(ms, longestResetMs)),
  storeAway(stage, _place, ms) {
    stage.store.wire.awayUntil = stage.world.time + ms;
  },
  failover: (stage, _place, ms) => stage.failOver(ms),
  restart: (stage, _place, ms) => stage.broker.restart(Math.min(ms, longestRestartMs)),
  redeliver: (stage) => stage.broker.stream.redeliverAll(),
  /** The clock of a place is wrong from now on: ahead, or behind for a short fault. */
  clock: ({ world }, { name }, ms) => void world.skews.set(name, ms < 1_000 ? -skewMs : skewMs),
  forgetAck: (stage) => stage.broker.stream.forgetLastAck(unsyncedMs),
} satisfies Record<string, CarryOut>;

export type TimedFaultKind = keyof typeof carryOut;
export const timedFaultKinds = Object.keys(carryOut) as TimedFaultKind[];

/** A fault at a time. */
export interface TimedFault {
  /** In ms after the beginning of the traffic. */
  atMs: number;
  kind: TimedFaultKind;
  /** The place. Faults of servers ignore it. */
  target: string;
  forMs: number;
}

/** The names of the servers in a history, for the rules that know which fault excuses what. */
const servers: Partial<Record<TimedFaultKind, string>> = {
  ...{ restart: 'nats', storeAway: 'redis', failover: 'redis' },
};

/** Plans a fault of a history. */
export function plan(stage: Stage, { atMs, kind, target, forMs }: TimedFault): void {
  stage.world.at(atMs, () => {
    const place = stage.place(target);
    stage.world.note(`fault ${kind} ${place.life.name} ${forMs.toFixed(0)}`);
    stage.faults.push({ at: now(), kind, target: servers[kind] ?? target, forMs });
    const act: CarryOut = carryOut[kind];
    act(stage, place, forMs);
  });
}

import { setTimeout as pause } from 'node:timers/promises';
import { now } from '../check/history.ts';
import type { Field } from '../field.ts';
import type { PlannedFault, Target } from '../plan/faults.ts';
import type { Replica } from '../replica.ts';
import { disturb } from './disturb.ts';
import { fillNats, fillRedis } from './fill.ts';
import { natsServerOf, stopServer } from './servers.ts';

/** The time after which a replica that did not reach its kill point dies anyway, in ms. */
const pointMs = 1_500;
/** The time after which a replica that was asked to end is killed, in ms. */
const stopMs = 4_000;

export interface FaultLoopOptions {
  field: Field;
  faults: readonly PlannedFault[];
  signal: AbortSignal;
  onFault?: ((what: string) => void) | undefined;
}

/**
 * Carries out the planned faults at their times, until the signal. Then ends all of them, and waits until all
 * servers are up again. A fault is left out while its target still suffers from another one. Returns the faults
 * that were carried out.
 */
export async function carryOut({
  field,
  faults,
  signal,
  onFault,
}: FaultLoopOptions): Promise<PlannedFault[]> {
  const begin = now();
  const done: PlannedFault[] = [];
  const suffering = new Map<string, Promise<void>>();
  for (const fault of faults) {
    await pause(Math.max(0, fault.atMs - (now() - begin)), undefined, { signal }).catch(() => {});
    if (signal.aborted) break;
    const name = victimOf(field, fault);
    if (name === undefined || suffering.has(name)) continue;
    done.push(fault);
    onFault?.(describe(fault, name));
    const over = strike(field, fault, name, signal).finally(() => suffering.delete(name));
    suffering.set(name, over);
    over.catch(() => {});
  }
  await Promise.all(suffering.values());
  if (done.some(({ kind }) => kind === 'jump')) field.setClock(0);
  return done;
}

function describe({ kind, forMs, point, side, aheadS }: PlannedFault, name: string): string {
  const at = point ? ` ${point}` : '';
  if (aheadS !== undefined) return `${kind} ${name} to ${aheadS} s ahead`;
  return `${kind}${at} ${name}${side ? ` (${side})` : ''}${forMs > 0 ? ` for ${forMs} ms` : ''}`;
}

/** Returns the name of the place or server that a fault hits; undefined when the field has none. */
function victimOf(field: Field, { target, which }: PlannedFault): string | undefined {
  return isServer(target) ? target : placeOf(field, target, which)?.name;
}

const isServer = (target: Target): target is 'nats' | 'redis' => target === 'nats' || target === 'redis';

function placeOf(field: Field, target: Target, which: number): Replica | undefined {
  if (isServer(target)) return undefined;
  const places = target === 'gateway' ? field.gateways : (field.parts[target] ?? []);
  return places[which % Math.max(1, places.length)];
}

async function strike(field: Field, fault: PlannedFault, name: string, signal: AbortSignal): Promise<void> {
  const { kind, target, which, forMs } = fault;
  field.log.faults.push({ at: now(), kind, target: name, ...(forMs > 0 && { forMs }) });
  if (kind === 'fill') {
    await (target === 'nats' ? fillNats : fillRedis)(field, forMs, signal);
  } else if (kind === 'jump') {
    field.setClock(fault.aheadS ?? 0);
  } else if (isServer(target)) {
    const server = target === 'redis' ? await field.redis.primary() : await natsServerOf(field, which);
    await stopServer(server, kind === 'freeze' ? 'SIGSTOP' : 'SIGKILL', forMs, signal);
  } else {
    const place = placeOf(field, target, which);
    if (place) await hit(field, place, fault, signal);
  }
}

async function hit(field: Field, place: Replica, fault: PlannedFault, signal: AbortSignal): Promise<void> {
  const { kind, forMs, point, passes = 0 } = fault;
  if (kind === 'kill') await place.kill();
  else if (kind === 'kill-at') await place.killAt(point ?? 'before-commit', passes, pointMs);
  else if (kind === 'term') await place.stop(stopMs);
  else if (kind === 'pause') {
    const resume = place.pause();
    await pause(forMs, undefined, { signal }).catch(() => {});
    resume();
  } else await disturb(field, place, fault, signal);
}

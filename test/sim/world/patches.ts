import { AsyncLocalStorage } from 'node:async_hooks';
import nodeCrypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';
import { meshClock } from '@agentmesh/protocol';
import { dead, lifeNow } from './life.ts';
import { fillBytes, uuidOf } from './random.ts';
import { real } from './real.ts';
import { SimTimer, simDelay } from './sim-timer.ts';
import type { World } from './world.ts';

let current: World | undefined;

/** Runs code in a world: until it ends, all time and randomness of this process are the world's. */
export async function within<T>(world: World, run: () => Promise<T>): Promise<T> {
  if (current) throw new Error('there is a world already');
  current = world;
  try {
    return await run();
  } finally {
    current = undefined;
  }
}

// The members are replaced by functions of other types: their values serve the same callers.
type Members = Record<string, unknown>;
type Callback = (...args: unknown[]) => void;

function define(target: object, members: Members): void {
  for (const [name, value] of Object.entries(members))
    Object.defineProperty(target, name, { value, configurable: true, writable: true });
}

/**
 * Puts time, timers and randomness of this process under the control of the current world. Without a world they are
 * the real ones. Code that imported a function by name before gets the new one too.
 */
export function install(): void {
  installTimers();
  installClocks();
  installRandomness();
  syncBuiltinESMExports();
  process.on('unhandledRejection', (reason) => {
    if (isOfDead(reason)) return;
    const text = reason instanceof Error ? (reason.stack ?? reason.message) : String(reason);
    if (current) current.defects.push(`unhandled rejection: ${text}`);
  });
}

function isOfDead(reason: unknown): boolean {
  for (let cause = reason; cause instanceof Error; cause = cause.cause) if (cause === dead) return true;
  return false;
}

function installTimers(): void {
  const timer =
    (repeats: boolean, fallback: unknown) =>
    (run: Callback, ms?: number, ...args: unknown[]) =>
      current
        ? new SimTimer(current, () => run(...args), ms, repeats)
        : (fallback as Callback as (...all: unknown[]) => unknown)(run, ms, ...args);
  const clear = (fallback: unknown) => (handle: unknown) => {
    if (handle instanceof SimTimer) handle.close();
    else (fallback as Callback)(handle);
  };
  define(globalThis, {
    setTimeout: timer(false, real.setTimeout),
    setInterval: timer(true, real.setInterval),
    clearTimeout: clear(real.clearTimeout),
    clearInterval: clear(real.clearInterval),
    clearImmediate: (handle: { close?: () => void } | undefined) =>
      handle?.close ? handle.close() : real.clearImmediate(handle as NodeJS.Immediate | undefined),
    setImmediate: (run: Callback, ...args: unknown[]) =>
      current ? simImmediate(current, () => run(...args)) : real.setImmediate(run, ...args),
  });
  define(timersPromises, {
    setTimeout: (ms?: number, value?: unknown, options?: { signal?: AbortSignal }) =>
      current ? simDelay(current, ms, value, options) : real.delay(ms, value, options),
    setImmediate: (value?: unknown) =>
      current
        ? new Promise((resolve) => globalThis.setImmediate(() => resolve(value)))
        : real.immediate(value),
  });
  define(AbortSignal, {
    timeout(ms: number) {
      if (!current) return real.timeout(ms);
      const controller = new AbortController();
      const reason = () => new DOMException('The operation was aborted due to timeout', 'TimeoutError');
      new SimTimer(current, () => controller.abort(reason()), ms, false);
      return controller.signal;
    },
  });
}

/**
 * An immediate belongs to no process: `breathe` shares one pause among all replicas of this Node process, and a pause
 * that a dead replica began must end.
 */
function simImmediate(world: World, run: () => void) {
  const inContext = AsyncLocalStorage.snapshot();
  const due = world.inOrder(0, () => inContext(run));
  const close = () => {
    due.isOff = true;
  };
  return { close, [Symbol.dispose]: close };
}

/** How far the clock of the process that runs now is ahead, in ms. */
const skewNow = () => current?.skews.get(lifeNow()?.place ?? '') ?? 0;

function installClocks(): void {
  // Each process has a clock of its own, and its own view of the mesh's time.
  const now = () => (current ? current.now() + skewNow() : real.Date.now());
  const offsets = new WeakMap<object, number | undefined>();
  Object.defineProperty(meshClock, 'offset', {
    get: () => offsets.get(lifeNow() ?? meshClock),
    set: (offset: number | undefined) => void offsets.set(lifeNow() ?? meshClock, offset),
  });
  const simDate: DateConstructor = new Proxy(real.Date, {
    construct(target, args, newTarget) {
      if (args.length === 0 && current) return new target(now());
      return Reflect.construct(target, args, newTarget === simDate ? target : newTarget);
    },
    get: (target, key) => (key === 'now' ? now : Reflect.get(target, key)),
  });
  define(globalThis, { Date: simDate });
  // Not from 0: code may take a time of 0 for "never".
  define(performance, { now: () => (current ? current.time + 10_000 : real.now()) });
  define(process.hrtime, {
    bigint: () => (current ? BigInt(Math.round(current.time * 1e6)) : real.bigint()),
  });
}

function installRandomness(): void {
  const uuid = (fallback: () => string) => () => (current ? uuidOf(current.randomOf('uuid')) : fallback());
  define(Math, { random: () => (current ? current.randomOf('math').next() : real.random()) });
  define(nodeCrypto, {
    randomUUID: uuid(() => real.randomUUID()),
    randomBytes: (size: number, callback?: (error: Error | null, bytes: Buffer) => void) =>
      current
        ? Buffer.from(fillBytes(current.randomOf('bytes'), new Uint8Array(size)))
        : real.randomBytes(size, callback),
  });
  define(globalThis.crypto, {
    randomUUID: uuid(real.webUUID),
    getRandomValues: <T extends NodeJS.ArrayBufferView>(into: T) =>
      current ? fillBytes(current.randomOf('bytes'), into) : real.webValues(into as never),
  });
}

import nodeCrypto from 'node:crypto';
import timersPromises from 'node:timers/promises';

/** The real timers, clocks and sources of randomness of this process. */
export const real = {
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
  setImmediate: globalThis.setImmediate,
  clearImmediate: globalThis.clearImmediate,
  Date: globalThis.Date,
  now: performance.now.bind(performance),
  delay: timersPromises.setTimeout,
  immediate: timersPromises.setImmediate,
  random: Math.random,
  randomUUID: nodeCrypto.randomUUID,
  randomBytes: nodeCrypto.randomBytes as (
    size: number,
    callback?: (error: Error | null, bytes: Buffer) => void,
  ) => Buffer,
  webUUID: globalThis.crypto.randomUUID.bind(globalThis.crypto),
  webValues: globalThis.crypto.getRandomValues.bind(globalThis.crypto),
  timeout: AbortSignal.timeout.bind(AbortSignal),
  bigint: process.hrtime.bigint.bind(process.hrtime),
};

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const source = new URL('../chaos/field/moved-clock.c', import.meta.url).pathname;

/**
 * Returns the environment in which a process has a wall clock that is ahead.
 *
 * @param folder the place of the library
 * @param seconds the time by which the clock is ahead
 * @throws Error where this is not possible: it needs Linux and a C compiler
 */
export function moveClock(folder: string, seconds: number): Record<string, string> {
  const [offset, library] = [join(folder, 'clock-offset'), join(folder, 'moved-clock.so')];
  writeFileSync(offset, new BigInt64Array([BigInt(seconds)]));
  const flags = ['-shared', '-fPIC', '-O1', `-DOFFSET_FILE=${JSON.stringify(offset)}`];
  try {
    execFileSync('cc', [...flags, '-o', library, source], { stdio: ['ignore', 'ignore', 'pipe'] });
  } catch (cause) {
    throw new Error('a moved clock needs Linux and a C compiler: apt-get install gcc libc6-dev', { cause });
  }
  return { LD_PRELOAD: library };
}

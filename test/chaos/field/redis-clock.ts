import { execFileSync } from 'node:child_process';
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { findBinary } from '@agentmesh/testing';

/** Sets the wall clock of the Redis servers: the seconds by which it is ahead, negative when it is behind. */
export type SetClock = (seconds: number) => void;

/**
 * Gives the Redis servers that this process starts from now on a wall clock that can be moved.
 *
 * @param folder the place of the library and of the present offset
 * @throws Error where this is not possible: it needs Linux and a C compiler
 */
export function moveClockOfRedis(folder: string): SetClock {
  const [offset, library, program] = ['offset', 'moved-clock.so', 'redis-server'].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  const setClock = (seconds: number) => {
    // The servers have mapped the file: it must not get shorter.
    const file = openSync(offset, 'r+');
    writeSync(file, new BigInt64Array([BigInt(seconds)]));
    closeSync(file);
  };
  writeFileSync(offset, new Uint8Array(8));
  const source = join(import.meta.dirname, 'moved-clock.c');
  const flags = ['-shared', '-fPIC', '-O1', `-DOFFSET_FILE=${JSON.stringify(offset)}`];
  try {
    if (process.platform !== 'linux') throw new Error('this is not Linux');
    execFileSync('cc', [...flags, '-o', library, source], { stdio: ['ignore', 'ignore', 'pipe'] });
  } catch (cause) {
    throw new Error(
      'the mix clock needs Linux and a C compiler ("apt-get install -y gcc libc6-dev"); leave it out otherwise',
      { cause },
    );
  }
  const redis = findBinary('redis-server') ?? 'redis-server';
  writeFileSync(program, `#!/bin/sh\nLD_PRELOAD=${library} exec ${redis} "$@"\n`, { mode: 0o755 });
  process.env.MESH_REDIS_BIN = program;
  return setClock;
}

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A small disk of its own, in memory. */
export interface Disk extends Disposable {
  path: string;
  /** Takes all space that is left. */
  fill(): void;
  /** Gives this space back. */
  free(): void;
}

/** Mounts a disk. Throws where this process may not mount. */
export function mountDisk(megabytes: number): Disk {
  const path = mkdtempSync(join(tmpdir(), 'agentmesh-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path], { stdio: 'ignore' });
  } catch (error) {
    rmSync(path, { recursive: true });
    throw error;
  }
  return {
    path,
    fill() {
      try {
        writeFileSync(join(path, 'filler'), Buffer.alloc(megabytes * 1024 * 1024));
      } catch (error) {
        if (Reflect.get(Object(error), 'code') !== 'ENOSPC') throw error;
      }
    },
    free() {
      rmSync(join(path, 'filler'), { force: true });
    },
    [Symbol.dispose]() {
      execFileSync('umount', ['-l', path]);
      rmSync(path, { recursive: true });
    },
  };
}

/** Tells whether this process may mount a disk: a test of a full disk needs one. */
export function canMount(): boolean {
  try {
    mountDisk(1)[Symbol.dispose]();
    return true;
  } catch {
    return false;
  }
}

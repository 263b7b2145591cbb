import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '..', '..');

/** Runs the release command of the repository. Returns its output. */
export async function release(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, ['deploy/packages/release.ts', ...args], {
    cwd: root,
    maxBuffer: 16 * 1024 * 1024,
  });
  return stdout;
}

import { mkdirSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { join, resolve } from 'node:path';

const ending = join(import.meta.dirname, 'end-on-signal.mjs');
let folder: string | undefined;

/** Tells whether the processes that this process starts write profiles. */
export function isProfiled(): boolean {
  return folder !== undefined;
}

/** Profiles of the processes of a benchmark. */
export interface Profiles {
  /** Writes the profile of this process. The other processes write theirs when they end. */
  end(): Promise<void>;
}

/** Begins a CPU profile of this process, and of each process that it starts from now on, in a folder. */
export function beginProfiles(path: string): Profiles {
  folder = resolve(path);
  mkdirSync(folder, { recursive: true });
  const before = process.env.NODE_OPTIONS;
  process.env.NODE_OPTIONS = `${before ?? ''} --cpu-prof --cpu-prof-dir=${folder} --import=${ending}`;
  const session = new Session();
  session.connect();
  const started = session.post('Profiler.enable').then(() => session.post('Profiler.start'));
  return {
    async end() {
      await started;
      const { profile } = await session.post('Profiler.stop');
      writeFileSync(join(folder ?? path, 'driver.cpuprofile'), JSON.stringify(profile));
      session.disconnect();
      if (before === undefined) delete process.env.NODE_OPTIONS;
      else process.env.NODE_OPTIONS = before;
    },
  };
}

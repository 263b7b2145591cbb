import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';

/** Where a mesh on this machine is found, and how one logs in: the same at every start from one data folder, so that programs find it again. */
export interface KeptPlace {
  natsPort?: number;
  redisPort?: number;
  /** By NATS user. */
  passwords: Record<string, string>;
}

const fileIn = (dataDir: string) => `${dataDir}/place.json`;

/** As an earlier start has left it; a port that somebody else has by now is left out. In the folder only its owner can read it. */
export async function readPlace(dataDir: string | undefined): Promise<KeptPlace> {
  if (dataDir === undefined) return { passwords: {} };
  let kept: KeptPlace;
  try {
    kept = JSON.parse(await readFile(fileIn(dataDir), 'utf8'));
  } catch {
    return { passwords: {} };
  }
  const { natsPort, redisPort, passwords = {} } = kept;
  return {
    passwords,
    ...((await isFree(natsPort)) && { natsPort: natsPort as number }),
    ...((await isFree(redisPort)) && { redisPort: redisPort as number }),
  };
}

/** Keeps it for the next start. */
export async function writePlace(dataDir: string | undefined, place: KeptPlace): Promise<void> {
  if (dataDir === undefined) return;
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await chmod(dataDir, 0o700);
  const file = fileIn(dataDir);
  await writeFile(`${file}.new`, `${JSON.stringify(place)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

async function isFree(port: number | undefined): Promise<boolean> {
  if (port === undefined) return false;
  return await new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

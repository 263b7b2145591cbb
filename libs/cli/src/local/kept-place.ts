import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';

/**
 * The ports and passwords of a mesh on this machine. All starts from one data folder use the same ports and
 * passwords, so that programs find the mesh again.
 */
export interface KeptPlace {
  natsPort?: number;
  redisPort?: number;
  /** The passwords by user of NATS; by `redis/` and the user for the users of Redis. */
  passwords: Record<string, string>;
}

const fileIn = (dataDir: string) => `${dataDir}/place.json`;

/**
 * Reads the ports and passwords of an earlier start. Leaves out a port that another program uses now. Only
 * the owner of the folder can read them.
 */
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

/** Saves the ports and passwords for the next start. */
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

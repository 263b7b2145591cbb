import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endProcess, freePort, spawnGuarded, until } from '@agentmesh/testing';

/** A PostgreSQL with an empty database. */
export interface Postgres extends AsyncDisposable {
  url: string;
  pid: number;
}

/** The folder in which Debian puts the programs of each version. */
const versions = '/usr/lib/postgresql';

function findPrograms(): string | undefined {
  try {
    const newest = readdirSync(versions).sort((a, b) => Number(b) - Number(a))[0];
    return newest === undefined ? undefined : join(versions, newest, 'bin');
  } catch {
    return undefined;
  }
}

/**
 * Starts a PostgreSQL with Debian's settings in a temporary folder, on a free port of the loopback interface. Returns
 * undefined where PostgreSQL is not installed. PostgreSQL refuses to run as root: root starts it as the user
 * `postgres`.
 */
export async function startPostgres(): Promise<Postgres | undefined> {
  const programs = findPrograms();
  if (programs === undefined) return undefined;
  const isRoot = process.getuid?.() === 0;
  // setpriv becomes the program, so signals reach it; runuser would stay in between.
  const asUser = isRoot ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'] : [];
  const folder = mkdtempSync(join(tmpdir(), 'bench-postgres-'));
  if (isRoot) execFileSync('chown', ['postgres', folder]);
  const run = ([program = '', ...args]: string[]) =>
    execFileSync(program, args, { cwd: folder, stdio: 'pipe' });
  const data = join(folder, 'data');
  run([...asUser, join(programs, 'initdb'), '--auth=trust', '--username=postgres', '--pgdata', data]);
  const port = await freePort();
  const server = spawnGuarded(
    [
      ...asUser,
      join(programs, 'postgres'),
      ...['-D', data, '-p', String(port), '-k', folder, '-c', 'listen_addresses=127.0.0.1'],
    ],
    { cwd: folder, stdio: ['ignore', 'ignore', 'ignore'], trash: folder },
  );
  const isReady = () => {
    try {
      run([join(programs, 'pg_isready'), '-h', '127.0.0.1', '-p', String(port)]);
      return true;
    } catch {
      return false;
    }
  };
  await until(isReady, { what: 'PostgreSQL', timeoutMs: 30_000, intervalMs: 100 });
  if (server.pid === undefined) throw new Error('PostgreSQL did not start as a process of this machine');
  return {
    url: `postgresql://postgres@127.0.0.1:${port}/bench`,
    pid: server.pid,
    async [Symbol.asyncDispose]() {
      // With this signal it breaks off its connections and ends, as its manual says.
      server.kill('SIGINT');
      await endProcess(server, 'SIGTERM');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

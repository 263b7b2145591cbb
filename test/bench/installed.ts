import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '../..');

/** A project with an agent, which has installed the packages as a user does. */
export interface InstalledProject extends AsyncDisposable {
  /** The file of the process of an agent without a model. */
  agent: string;
  /** The file of the process of an agent whose model answers after the time that its argument gives, in ms. */
  slowAgent: string;
}

/** Builds and packs the packages, and installs them in a folder of their own. Takes about a minute. */
export async function installPackages(): Promise<InstalledProject> {
  const run = promisify(execFile);
  await run('npm', ['run', '--silent', 'release', '--', '--dry-run'], { cwd: root });
  const packed = join(root, '.mesh/release');
  const tarballs = (await readdir(packed)).filter((file) => file.endsWith('.tgz'));
  const folder = await mkdtemp(join(tmpdir(), 'agentmesh-bench-'));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module', private: true }));
  const packages = [...tarballs.map((file) => join(packed, file)), '@google/genai', 'zod'];
  await run('npm', ['install', '--silent', '--no-audit', '--no-fund', ...packages], { cwd: folder });
  const copyOf = async (file: string) => {
    await copyFile(join(import.meta.dirname, file), join(folder, file));
    return join(folder, file);
  };
  const [agent, slowAgent] = [await copyOf('installed-agent.mjs'), await copyOf('installed-slow-agent.mjs')];
  return { agent, slowAgent, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

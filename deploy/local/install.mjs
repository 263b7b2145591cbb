import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { withLock } from './lock.mjs';
import { runQuietly, step } from './process.mjs';

/**
 * Returns Node 24 from the npm package `node`, and the folder that comes first on the PATH of all programs
 * that we start.
 */
export function tools(root) {
  const bin = join(root, 'node_modules', '.bin');
  const windows = process.platform === 'win32';
  return { bin, node: windows ? join(root, 'node_modules/node/bin/node.exe') : join(bin, 'node') };
}

async function manifests(folder) {
  const entries = await readdir(folder, { withFileTypes: true });
  const found = entries.filter(({ name }) => name === 'package.json').map(({ name }) => join(folder, name));
  for (const entry of entries) {
    if (!entry.isDirectory() || entry.name === 'node_modules' || entry.name.startsWith('.')) continue;
    found.push(...(await manifests(join(folder, entry.name))));
  }
  return found;
}

/**
 * Returns a text that changes whenever an installation would give another result than the last installation.
 */
async function fingerprint(root) {
  const files = ['pnpm-lock.yaml', 'pnpm-workspace.yaml'].map((name) => join(root, name));
  files.push(...(await manifests(root)).sort());
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}`);
  for (const file of files) {
    hash.update(`\0${relative(root, file)}\0`);
    hash.update(await readFile(file));
  }
  return hash.digest('hex');
}

/** Installs the dependencies when they are missing or have changed. @throws Stop with pnpm's exit code */
export async function installDependencies(root) {
  const stamp = join(root, 'node_modules', '.agentmesh-installed');
  const wanted = await fingerprint(root);
  const installed = async () =>
    existsSync(tools(root).node) && existsSync(stamp) && (await readFile(stamp, 'utf8')) === wanted;
  if (await installed()) return;
  await withLock(join(root, '.mesh', 'install.lock'), async () => {
    // Another process may have installed the packages while this process waited for the lock.
    if (await installed()) return;
    step(`installing dependencies (${existsSync(stamp) ? 'they have changed' : 'first run'})`);
    // pm-on-fail: npx has installed the pnpm version that package.json names. Without this option pnpm 12
    // expects its own version in the lock file. An ordinary installation does not write it there (pnpm issue
    // 14124), so a frozen installation would fail. Outside CI an installation may add a new package to the
    // lock file.
    const frozen = process.env.CI ? '--frozen-lockfile' : '--no-frozen-lockfile';
    const options = [frozen, '--pm-on-fail=ignore'];
    const { packageManager } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    await runQuietly('npx', ['--yes', packageManager, 'install', ...options], 'the installation', {
      cwd: root,
      // With CI set, pnpm asks no questions.
      env: { ...process.env, CI: 'true' },
      shell: process.platform === 'win32',
    });
    // The installation may have written a new package into the lock file.
    await writeFile(stamp, await fingerprint(root));
  });
}

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { publishedFolders, root } from './compile.ts';

/** A package as it is published. */
export interface PackedPackage {
  name: string;
  version: string;
  /** Path of the tarball. */
  filename: string;
  /** Bytes of the tarball. */
  size: number;
  files: { path: string }[];
}

/**
 * Writes the tarballs of all published packages into a folder, from their compiled files. pnpm takes `exports` and
 * `bin` from `publishConfig`, replaces `workspace:` and `catalog:` by versions, and adds the licence.
 *
 * @returns the packages in the order in which they can be published: each after those that it needs
 */
export async function packPackages(folder: string): Promise<PackedPackage[]> {
  return JSON.parse(await pnpm(['pack', ...everyPackage(), '--pack-destination', folder, '--json']));
}

/** Writes the list of all components of the package `agentmesh` and what it needs: an SBOM, as CycloneDX. */
export async function writeSbom(file: string): Promise<void> {
  const options = ['--sbom-format', 'cyclonedx', '--prod', '--lockfile-only', '--out', file];
  await pnpm(['--filter', 'agentmesh', 'sbom', ...options]);
}

/** Publishes all packages whose version the registry does not have. @throws Error with pnpm's message */
export async function publishPackages(registry: string, options: readonly string[]): Promise<void> {
  await pnpm(['publish', ...everyPackage(), '--registry', registry, ...options]);
}

function everyPackage(): string[] {
  return ['--recursive', ...publishedFolders().flatMap((folder) => ['--filter', `./${folder}`])];
}

/** Runs the version of pnpm that the repository names. Returns its output. */
async function pnpm(args: string[]): Promise<string> {
  const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  try {
    const { stdout } = await promisify(execFile)(
      'npx',
      ['--yes', packageManager, '--pm-on-fail=ignore', ...args],
      { cwd: root, maxBuffer: 64 * 1024 * 1024, shell: process.platform === 'win32' },
    );
    return stdout;
  } catch (cause) {
    const { stdout = '', stderr = '' } = cause as { stdout?: string; stderr?: string };
    throw new Error(`pnpm ${args[0]} failed:\n${stdout}${stderr}`, { cause });
  }
}

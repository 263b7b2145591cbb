import { mkdirSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { buildPackages, root } from './compile.ts';
import { type PackedPackage, packPackages, publishPackages, writeSbom } from './pnpm.ts';

const usage = `usage: npm run release -- --dry-run
       npm run release -- --registry <address> [--provenance] [--tag <tag>] [--no-git-checks]`;

const noRegistry = `name the registry: npm run release -- --registry <address>
Without one nothing is published. npm run release -- --dry-run shows what would be.`;

/** Builds and packs all packages, writes the SBOM, and publishes them unless it is a dry run. */
async function release(): Promise<void> {
  const { isDryRun, registry, options } = readArguments();
  if (!isDryRun && registry === undefined) throw new Error(noRegistry);
  const folder = join(root, '.mesh', 'release');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await buildPackages();
  const packages = await packPackages(folder);
  assertOneVersion(packages);
  const sbom = join(folder, 'sbom.cdx.json');
  await writeSbom(sbom);
  for (const line of summaryOf(packages)) console.log(line);
  console.log(`SBOM (CycloneDX): ${relative(root, sbom)}`);
  if (isDryRun || registry === undefined) {
    console.log('dry run: nothing was published');
    return;
  }
  await publishPackages(registry, options);
  console.log(`published to ${registry}`);
}

function readArguments() {
  try {
    const { values } = parseArgs({
      options: {
        'dry-run': { type: 'boolean', default: false },
        registry: { type: 'string' },
        provenance: { type: 'boolean', default: false },
        tag: { type: 'string' },
        'no-git-checks': { type: 'boolean', default: false },
      },
    });
    const options = [
      ...(values.provenance ? ['--provenance'] : []),
      ...(values.tag === undefined ? [] : ['--tag', values.tag]),
      ...(values['no-git-checks'] ? ['--no-git-checks'] : []),
    ];
    // The registry of npm's configuration is the one to install from, and may be a mirror.
    return { isDryRun: values['dry-run'], registry: values.registry, options };
  } catch (cause) {
    throw new Error(`${cause instanceof Error ? cause.message : cause}\n${usage}`, { cause });
  }
}

/** All versions move together: each package needs the others in the same version. */
function assertOneVersion(packages: readonly PackedPackage[]): void {
  const versions = new Set(packages.map(({ version }) => version));
  if (versions.size === 1) return;
  const list = packages.map(({ name, version }) => `${name} ${version}`).join(', ');
  throw new Error(`the packages have different versions: ${list}; give all the same`);
}

function summaryOf(packages: readonly PackedPackage[]): string[] {
  return packages.flatMap(({ name, version, size, files }) => [
    `${name} ${version}: ${Math.ceil(size / 1024)} kB, ${files.length} files`,
    ...files.map(({ path }) => `  ${path}`),
  ]);
}

try {
  await release();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

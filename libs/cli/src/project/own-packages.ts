import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const own = new URL('../../', import.meta.url);
const lockSchema = z.object({
  packages: z.record(z.string(), z.object({ resolved: z.string().optional() })),
});

/**
 * Returns our packages for the `package.json` of a new project. They come from where this command was installed
 * from: from tarballs, or in its version from a registry.
 */
export function ownPackages(modules = fileURLToPath(new URL('../../', own))): Record<string, string> {
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync(new URL('package.json', own), 'utf8')));
  return { agentmesh: version, ...tarballsIn(modules) };
}

/** Returns our packages that npm installed from tarballs. */
function tarballsIn(modules: string): Record<string, string> {
  const file = join(modules, '.package-lock.json');
  if (!existsSync(file)) return {};
  const { packages } = lockSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  const entries = Object.entries(packages).flatMap(([path, { resolved = '' }]) => {
    const [, name = ''] = /^node_modules\/(@agentmesh\/[^/]+|agentmesh)$/.exec(path) ?? [];
    const [, tarball = ''] = /^file:(.+\.tgz)$/.exec(resolved) ?? [];
    return name && tarball ? [[name, `file:${resolve(dirname(modules), tarball)}`]] : [];
  });
  return Object.fromEntries(entries);
}

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';

/** The packages that the process of an agent or a tool loads. None of them looks for files beside its modules. */
export const joinedPackages = ['agent', 'bus', 'mesh', 'protocol', 'service', 'store'].map(
  (name) => `libs/${name}`,
);

/**
 * Joins the compiled modules of a package: Node.js loads a few large files sooner than hundreds of small ones. Each
 * entry of the package stays a file of its own; what entries share, and what is imported late, goes into
 * `dist/parts`. Declarations stay as they are.
 *
 * @param folder path of the package, with its compiled modules in `dist`
 * @throws Error with the first warning of Rolldown, as for a missing module
 */
export async function joinModules(folder: string): Promise<void> {
  const dist = join(folder, 'dist');
  const compiled = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.js(?:\.map)?$/.test(file),
  );
  await using bundle = await rolldown({
    cwd: folder,
    input: entriesOf(folder),
    platform: 'node',
    external: (id) => !/^[./]/.test(id),
    plugins: [sourceMaps],
    onLog(_level, { message }) {
      throw new Error(message);
    },
  });
  const { output } = await bundle.generate({
    format: 'esm',
    sourcemap: true,
    entryFileNames: '[name].js',
    chunkFileNames: 'parts/[name]-[hash].js',
  });
  for (const file of compiled) rmSync(join(dist, file));
  mkdirSync(join(dist, 'parts'), { recursive: true });
  for (const part of output)
    writeFileSync(join(dist, part.fileName), part.type === 'chunk' ? part.code : part.source);
}

/** Returns the modules that users of the package may import, by their names within `dist`. */
function entriesOf(folder: string): Record<string, string> {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const entries: { default: string }[] = Object.values(manifest.publishConfig.exports);
  return Object.fromEntries(
    entries.map(({ default: file }) => [file.replace(/^\.\/dist\/|\.js$/g, ''), file]),
  );
}

/** Passes on the maps of the compiler, so that traces of errors lead to the TypeScript. */
const sourceMaps: Plugin = {
  name: 'source-maps',
  async load(id) {
    const [code, map] = await Promise.all([readFile(id, 'utf8'), readFile(`${id}.map`, 'utf8')]);
    return { code: code.replace(/\/\/# sourceMappingURL=.*\s*$/, ''), map };
  },
};

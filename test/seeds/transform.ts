import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

type Transform = (source: string, name: string, options: object) => Promise<{ code: string }>;

let loaded: Promise<Transform> | undefined;

/**
 * TypeScript to JavaScript. Node's own removal of types is not enough for programs that import types as if they were values: such imports
 * must go as well.
 *
 * @throws Error for what is no TypeScript
 */
export async function transform(source: string): Promise<string> {
  loaded ??= load();
  const transformWithOxc = await loaded;
  const { code } = await transformWithOxc(source, 'program.ts', { sourcemap: false, target: 'esnext' });
  return code;
}

/** The one that the test runner brings: it needs no package of its own. */
async function load(): Promise<Transform> {
  const ofVitest = createRequire(createRequire(import.meta.url).resolve('vitest/package.json'));
  const vite = await import(pathToFileURL(ofVitest.resolve('vite')).href);
  return vite.transformWithOxc;
}

import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

type Transform = (source: string, name: string, options: object) => Promise<{ code: string }>;

let loaded: Promise<Transform> | undefined;

/**
 * Turns TypeScript into JavaScript. Node's own removal of types is not enough, because it keeps imports of
 * types without the word `type`, which some programs use.
 *
 * @throws Error when the source is not TypeScript
 */
export async function transform(source: string): Promise<string> {
  loaded ??= load();
  const transformWithOxc = await loaded;
  const { code } = await transformWithOxc(source, 'program.ts', { sourcemap: false, target: 'esnext' });
  return code;
}

/** Loads the transform of the test runner, which needs no further package. */
async function load(): Promise<Transform> {
  const ofVitest = createRequire(createRequire(import.meta.url).resolve('vitest/package.json'));
  const vite = await import(pathToFileURL(ofVitest.resolve('vite')).href);
  return vite.transformWithOxc;
}

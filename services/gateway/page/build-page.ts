import { join } from 'node:path';
import { build, type InlineConfig } from 'vite';

/** The folder of the built page, which is part of the package. */
export const builtFolder = join(import.meta.dirname, '..', 'console');

const config: InlineConfig = {
  root: import.meta.dirname,
  base: '/console/',
  configFile: false,
  envDir: false,
  logLevel: 'warn',
  // Its files have fixed names, so that a new version of the page changes files and adds none.
  build: {
    outDir: builtFolder,
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: false,
    target: 'es2022',
    license: { fileName: 'licences.md' },
    rolldownOptions: {
      output: { entryFileNames: 'console.js', assetFileNames: 'console[extname]', codeSplitting: false },
    },
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
};

/** Builds the page of the console. Returns its files by name. @throws Error with the messages of the bundler */
export async function buildPage({ writes }: { writes: boolean }): Promise<Map<string, string>> {
  // The bundler reads this variable, whatever started it.
  const before = process.env.NODE_ENV;
  process.env.NODE_ENV = 'production';
  const result = await build({ ...config, build: { ...config.build, write: writes } });
  if (before === undefined) delete process.env.NODE_ENV;
  else process.env.NODE_ENV = before;
  if (!('output' in result)) throw new Error('the bundler gave no files of the page');
  return new Map(
    result.output.map((file) => [
      file.fileName,
      file.type === 'chunk' ? file.code : Buffer.from(file.source).toString('utf8'),
    ]),
  );
}

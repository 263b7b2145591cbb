import { existsSync } from 'node:fs';
import { delimiter, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Returns the path of a program in this folder. Its extension is ours: `.ts` here, `.js` when it is built. */
export function ownProgram(name: string): string {
  return fileURLToPath(new URL(`./${name}${extname(import.meta.url)}`, import.meta.url));
}

/** Returns the path of python3. @throws Error when it is missing */
export function findPython(): string {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  const python = folders.map((folder) => join(folder, 'python3')).find((file) => existsSync(file));
  if (python !== undefined) return python;
  throw new Error('python3 is not found, which runs the tools in Python: install it, or put it on PATH');
}

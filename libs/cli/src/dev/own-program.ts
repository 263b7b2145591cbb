import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Returns the path of a program in this folder. Its extension is ours: `.ts` here, `.js` when it is built. */
export function ownProgram(name: string): string {
  return fileURLToPath(new URL(`./${name}${extname(import.meta.url)}`, import.meta.url));
}

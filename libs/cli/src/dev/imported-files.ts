import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const relativeImport = /(?:\bfrom\s*|\bimport\s*\(?\s*)['"](\.{1,2}\/[^'"]+)['"]/g;

/**
 * Returns a program's file and all files that it imports by relative paths, directly or through other files.
 * A change of any of them changes the program. Of a program in Python, all files of its folder count.
 */
export function importedFiles(main: string): Set<string> {
  if (main.endsWith('.py')) return pythonFiles(dirname(main));
  const found = new Set<string>();
  const waiting = [resolve(main)];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    for (const [, path = ''] of textOf(file).matchAll(relativeImport))
      waiting.push(resolve(dirname(file), path));
  }
  return found;
}

function pythonFiles(folder: string): Set<string> {
  const names = readdirSync(folder).filter((name) => name.endsWith('.py'));
  return new Set(names.map((name) => resolve(join(folder, name))));
}

/** Returns the text of a file; '' for a file that does not exist, which may come later. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

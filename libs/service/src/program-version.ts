import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';

const manifestSchema = z.object({ version: z.string().min(1) });

/**
 * Returns the version of the package to which a program belongs: that of the nearest `package.json` with a
 * version, from the folder of the program upwards; undefined when there is none.
 */
export function programVersion(program: string | undefined): string | undefined {
  if (program === undefined) return undefined;
  for (let folder = dirname(program); ; folder = dirname(folder)) {
    const version = versionIn(join(folder, 'package.json'));
    if (version !== undefined || folder === dirname(folder)) return version;
  }
}

function versionIn(file: string): string | undefined {
  try {
    return manifestSchema.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data?.version;
  } catch {
    // Absent, or not for us.
    return undefined;
  }
}

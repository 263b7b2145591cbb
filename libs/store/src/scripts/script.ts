import { createHash } from 'node:crypto';

/** A Lua script: one atomic step on one slot. */
export interface Script {
  source: string;
  sha: string;
}

/** Makes a script from Lua source. */
export function script(source: string): Script {
  return { source, sha: createHash('sha1').update(source).digest('hex') };
}

import { createHash } from 'node:crypto';

/**
 * The effect of a script on the memory of Redis. A script that only `reads`, or that `frees`, also runs when
 * Redis is full.
 */
export type ScriptEffect = 'reads' | 'writes' | 'frees';

/** A Lua script: one atomic step on one slot. Redis keeps it as a function in a library of its own. */
export interface Script {
  source: string;
  effect: ScriptEffect;
  /**
   * The name of the function and of its library. It is made of the source, so that two releases of a service
   * can use one Redis: each finds its own functions.
   */
  name: string;
}

/** Makes a script from Lua source. */
export function script(source: string, effect: ScriptEffect = 'writes'): Script {
  const digest = createHash('sha1').update(`${effect}\n${source}`).digest('hex');
  return { source, effect, name: `agentmesh_${digest}` };
}

const flags: Record<ScriptEffect, string> = { reads: "'no-writes'", writes: '', frees: "'allow-oom'" };

/** Returns the source of the library, which `FUNCTION LOAD` takes. */
export function libraryOf({ source, effect, name }: Script): string {
  return `#!lua name=${name}
redis.register_function{ function_name = '${name}', flags = { ${flags[effect]} }, callback = function(KEYS, ARGV)
${source}
end }
`;
}

import type { NamedScript, ScriptValues } from './define-script.ts';
import { type Script, script } from './script.ts';

/** Two scripts that run as one step. */
export interface ChainedScripts<First, Second> extends Script {
  call(first: First, second: Second): [script: Script, keys: string[], args: (string | number)[]];
}

/**
 * Makes a script that runs a script, and then another one if `goesOn` is true, in one step: a Lua expression
 * with the reply of the first script as `reply`. All keys of the first script are keys of the second one. The reply has
 * the replies of the scripts that ran.
 */
export function chainScripts<
  K extends string,
  A extends string,
  OtherK extends string,
  OtherA extends string,
  L extends string,
>(
  first: NamedScript<K, A, never>,
  second: NamedScript<K | OtherK, OtherA, L>,
  goesOn: string,
): ChainedScripts<ScriptValues<K, A, never>, ScriptValues<K | OtherK, OtherA, L>> {
  const places = first.keys.map((name) => `KEYS[${second.keys.indexOf(name) + 1}]`);
  const source = `
local function first(KEYS, ARGV)
${first.source}
end
local function second(KEYS, ARGV)
${second.source}
end
local first_keys, first_args, second_args = { ${places.join(', ')} }, {}, {}
for at = 1, ${first.args.length} do first_args[at] = ARGV[at] end
for at = ${first.args.length + 1}, #ARGV do second_args[at - ${first.args.length}] = ARGV[at] end
local reply = first(first_keys, first_args)
if not (${goesOn}) then return { reply } end
return { reply, second(KEYS, second_args) }
`;
  return {
    ...script(source),
    call(valuesOfFirst, valuesOfSecond) {
      const [, , firstArgs] = first.call(valuesOfFirst);
      const [, keys, secondArgs] = second.call(valuesOfSecond);
      return [this, keys, [...firstArgs, ...secondArgs]];
    },
  };
}

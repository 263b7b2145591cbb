import { scriptModules, scriptsIn } from '../../../libs/store/src/functions.ts';

/** The names of the scripts in the code of the store, by the names of their functions in Redis. */
const scriptNames: ReadonlyMap<string, string> = new Map(
  scriptModules
    .flatMap((module) => Object.entries<unknown>({ ...module }))
    .flatMap(([name, value]) => scriptsIn([{ value }]).map((script) => [script.name, name])),
);

/** Returns the name by which people know the script of a function. */
export function scriptNameOf(functionName: string): string {
  return scriptNames.get(functionName) ?? functionName;
}

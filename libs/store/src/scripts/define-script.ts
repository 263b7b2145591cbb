import { type Script, type ScriptEffect, script } from './script.ts';

/** The values of one call: keys and arguments by their names, lists in full. */
export type ScriptValues<K extends string, A extends string, L extends string> = Record<K, string> &
  Record<A, string | number> &
  Record<L, readonly (string | number)[]>;

/** A script whose keys and arguments have names. */
export interface NamedScript<K extends string, A extends string, L extends string> extends Script {
  /** The names of its keys and of its arguments without lists, in their order. */
  keys: readonly K[];
  args: readonly A[];
  /** Puts the values of a call in the order in which the script reads them. */
  call(values: ScriptValues<K, A, L>): [script: Script, keys: string[], args: (string | number)[]];
}

/** The words of a text. */
type Word<S extends string> = S extends `${infer First}${' ' | '\n'}${infer Rest}`
  ? Word<First> | Word<Rest>
  : S extends ''
    ? never
    : S;

/** Names with spaces or new lines between them. */
interface Names<K, A, L> {
  /** The keys in their order: the first key decides which server of a Redis Cluster runs the script. */
  keys: K;
  args?: A;
  /** Arguments of any number of values, each a table in Lua. */
  lists?: L;
}

/**
 * Makes a script. Its Lua finds each key and argument in a local variable of its name, `sessionEnds` as
 * `session_ends`. Its callers pass the values by the same names: a missing or wrong name is a type error.
 *
 * @throws Error for a name that Lua cannot have, or that occurs twice
 */
export function defineScript<
  const K extends string,
  const A extends string = '',
  const L extends string = '',
>(names: Names<K, A, L>, lua: string, effect?: ScriptEffect): NamedScript<Word<K>, Word<A>, Word<L>> {
  const [keys, args, lists] = [wordsOf(names.keys), wordsOf<A>(names.args), wordsOf<L>(names.lists)];
  assertNames([...keys, ...args, ...lists]);
  const declared = `${declare('KEYS', keys)}${declare('ARGV', args)}${declareLists(args.length, lists)}`;
  return {
    ...script(`${declared}${lua}`, effect),
    keys,
    args,
    call(values) {
      const ofLists = lists.flatMap((name) => [values[name].length, ...values[name]]);
      return [this, keys.map((name) => values[name]), [...args.map((name) => values[name]), ...ofLists]];
    },
  };
}

function wordsOf<S extends string>(text: S | undefined): Word<S>[] {
  return (text?.split(/\s+/).filter((word) => word !== '') ?? []) as Word<S>[];
}

/** Returns the name of the local variable for a key or an argument. */
function luaName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function declare(table: 'KEYS' | 'ARGV', names: readonly string[]): string {
  return names.map((name, at) => `local ${luaName(name)} = ${table}[${at + 1}]\n`).join('');
}

/** Declares the lists behind the other arguments, each with its length before it. */
function declareLists(before: number, names: readonly string[]): string {
  if (names.length === 0) return '';
  const readList = `local list_end = ${before}
local function read_list()
  local list, start = {}, list_end + 1
  list_end = start + ARGV[start]
  for at = start + 1, list_end do list[at - start] = ARGV[at] end
  return list
end
`;
  return readList + names.map((name) => `local ${luaName(name)} = read_list()\n`).join('');
}

const luaWords =
  'and break do else elseif end false for function if in local nil not or repeat return then true until while redis'.split(
    ' ',
  );

function assertNames(names: readonly string[]): void {
  for (const name of names) {
    if (!/^[a-z][A-Za-z]*$/.test(name) || luaWords.includes(name))
      throw new Error(`${name} cannot be a variable in Lua; give it another name`);
    if (names.filter((other) => luaName(other) === luaName(name)).length > 1)
      throw new Error(`the script has two keys or arguments called ${name}; give one another name`);
  }
}

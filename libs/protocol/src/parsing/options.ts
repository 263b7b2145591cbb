import { MeshError } from '../errors/mesh-error.ts';
import { nearest } from './nearest.ts';
import type { OptionKind } from './option-kinds.ts';

/** The options of a type by their names: `true`, or the kind of values that one takes. */
type OptionTable = Readonly<Record<string, true | OptionKind>>;

/**
 * The names of all options of a type. The compiler refuses a missing name and a name that is not in the type.
 */
export type OptionNames<T> = { readonly [K in keyof Required<T>]: true | OptionKind };

export interface OptionRules {
  /**
   * The options of ADK that do nothing here, each with advice what to use instead. An option that is off
   * (`false`, an empty list) is accepted.
   */
  unsupported?: Readonly<Record<string, string>>;
  /**
   * Tells whether other options may be present, such as options of a subclass: then only the unsupported
   * options are refused.
   */
  isOpen?: boolean;
}

/**
 * Refuses options that nobody reads, and values of another kind. An option that is `undefined` counts as absent.
 *
 * @param owner names the owner of the options in the error
 * @throws MeshError `invalid_argument` that names the first unknown option, and the option that was probably
 * meant
 */
export function assertOptions(
  owner: string,
  options: object | undefined,
  known: OptionTable,
  { unsupported = {}, isOpen = false }: OptionRules = {},
): void {
  if (options === undefined) return;
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new MeshError('invalid_argument', `${owner}: the options must be an object`);
  }
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    if (Object.hasOwn(known, name)) {
      assertKind(owner, name, value, known[name]);
      continue;
    }
    if (Object.hasOwn(unsupported, name)) {
      if (isOff(value)) continue;
      throw new MeshError(
        'invalid_argument',
        `${owner}: the option \`${name}\` of ADK does nothing here; ${unsupported[name]}`,
      );
    }
    if (!isOpen) throw new MeshError('invalid_argument', `${owner}: ${unknownOption(name, known)}`);
  }
}

function assertKind(
  owner: string,
  name: string,
  value: unknown,
  kind: OptionTable[string] | undefined,
): void {
  const problem = typeof kind === 'function' && value !== null ? kind(value) : undefined;
  if (problem === undefined) return;
  const what = problem.startsWith('[') ? `${name}${problem}` : `${name} ${problem}`;
  throw new MeshError('invalid_argument', `${owner}: ${what}`);
}

function isOff(value: unknown): boolean {
  return value === false || value === null || (Array.isArray(value) && value.length === 0);
}

function unknownOption(name: string, known: OptionTable): string {
  const names = Object.keys(known);
  const meant = nearest(name, names);
  const hint = meant ? `did you mean \`${meant}\`?` : `there are ${names.sort().join(', ') || 'none'}`;
  return `there is no option \`${name}\`; ${hint}`;
}

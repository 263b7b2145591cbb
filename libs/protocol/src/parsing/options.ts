import { MeshError } from '../errors/mesh-error.ts';
import { nearest } from './nearest.ts';

/**
 * The names of all options of a type. The compiler refuses a missing name and a name that is not in the type.
 */
export type OptionNames<T> = { readonly [K in keyof Required<T>]: true };

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
 * Refuses options that nobody reads. An option that is `undefined` counts as absent.
 *
 * @param owner names the owner of the options in the error
 * @throws MeshError `invalid_argument` that names the first unknown option, and the option that was probably
 * meant
 */
export function assertOptions(
  owner: string,
  options: object | undefined,
  known: Readonly<Record<string, true>>,
  { unsupported = {}, isOpen = false }: OptionRules = {},
): void {
  if (options === undefined) return;
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new MeshError('invalid_argument', `${owner}: the options must be an object`);
  }
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || Object.hasOwn(known, name)) continue;
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

function isOff(value: unknown): boolean {
  return value === false || value === null || (Array.isArray(value) && value.length === 0);
}

function unknownOption(name: string, known: Readonly<Record<string, true>>): string {
  const names = Object.keys(known);
  const meant = nearest(name, names);
  const hint = meant ? `did you mean \`${meant}\`?` : `there are ${names.sort().join(', ') || 'none'}`;
  return `there is no option \`${name}\`; ${hint}`;
}

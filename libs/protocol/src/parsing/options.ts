import { MeshError } from '../errors/mesh-error.ts';
import { nearest } from './nearest.ts';

/** The names of all options of a type: one that is left out, or is not of the type, is an error of the compiler. */
export type OptionNames<T> = { readonly [K in keyof Required<T>]: true };

export interface OptionRules {
  /** Options of ADK that do nothing here, with what to use instead. One that is off (`false`, an empty list) may be given. */
  unsupported?: Readonly<Record<string, string>>;
  /** Another class may have options of its own: only what is unsupported is refused. */
  isOpen?: boolean;
}

/**
 * Refuses options that nobody reads. An option that is `undefined` is not given.
 *
 * @param owner names whose options they are, in the error
 * @throws MeshError `invalid_argument` that names the first unknown option, and the one that was probably meant
 */
export function assertOptions(
  owner: string,
  given: object | undefined,
  known: Readonly<Record<string, true>>,
  { unsupported = {}, isOpen = false }: OptionRules = {},
): void {
  if (given === undefined) return;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new MeshError('invalid_argument', `${owner}: the options must be an object`);
  }
  for (const [name, value] of Object.entries(given)) {
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

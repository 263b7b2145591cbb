import { z } from 'zod';
import { Secret } from './secret.ts';

export interface VariableOptions {
  /** Text that stands for an unset or empty variable; read by the schema like any other. */
  default?: string;
  /** Unset is allowed and reads as undefined. Neither a default nor optional: the variable is required. */
  optional?: true;
  /** The value is wrapped in a {@link Secret}. */
  secret?: true;
  /** The value is in no message about it: it may hold a password that does not belong there. */
  hidden?: true;
}

/** One environment variable: its name, what it means, and how its text is read. */
export interface Variable<T> {
  readonly env: string;
  /** What it is for, with its unit; a line of `docs/configuration.md`. */
  readonly meaning: string;
  readonly default: string | undefined;
  readonly required: boolean;
  readonly secret: boolean;
  /** Reads the text of the environment; empty text counts as unset, as compose files and manifests write it. */
  read(text: string | undefined): { value: T } | { problem: string };
}

/** What {@link variable} yields for its options. */
export type VariableValue<T, O extends VariableOptions> =
  | (O extends { secret: true } ? Secret : T)
  | (O extends { optional: true } ? undefined : never);

/** Declares one environment variable. The schema reads its text; of a secret it must yield text. */
export function variable<T, const O extends VariableOptions>(
  env: string,
  meaning: string,
  schema: z.ZodType<T, string>,
  options: O,
): Variable<VariableValue<T, O>> {
  const secret = options.secret === true;
  return {
    env,
    meaning,
    default: options.default,
    required: options.default === undefined && options.optional === undefined,
    secret,
    read(text) {
      const given = text || options.default;
      // The casts below state what VariableValue says: TypeScript does not narrow a conditional type by its condition.
      if (given === undefined) {
        return options.optional
          ? { value: undefined as VariableValue<T, O> }
          : { problem: 'is required and not set' };
      }
      const result = schema.safeParse(given);
      if (!result.success) {
        const said = result.error.issues.map(({ message }) => message).join(', ');
        return { problem: secret || options.hidden ? said : `${said}; it is ${JSON.stringify(given)}` };
      }
      const value = secret ? new Secret(String(result.data)) : result.data;
      return { value: value as VariableValue<T, O> };
    },
  };
}

/** Schema of a whole number between two bounds, written in decimal digits. */
export function integer(min: number, max: number): z.ZodType<number, string> {
  const message = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,15}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message);
}

/**
 * Schema of a whole number for each app: `30` for all, or `shop=30,*=365`, where `*` stands for those that are not named. Reads as a function of the
 * app; undefined where nothing is said of it.
 */
export function perApp(min: number, max: number): z.ZodType<(app: string) => number | undefined, string> {
  const message = `must be a whole number from ${min} to ${max}, or such numbers by app: shop=30,*=365`;
  return z.string().transform((text, context) => {
    const parts = text.split(',').map((part) => /^\s*(?:([^=,\s]+)\s*=)?\s*(\d{1,15})\s*$/.exec(part));
    const entries = parts.map((part): [string, number] => [
      part?.[1] ?? '*',
      Number(part?.[2] ?? Number.NaN),
    ]);
    const numbers = new Map(entries);
    if (numbers.size === entries.length && entries.every(([, number]) => number >= min && number <= max))
      return (app: string) => numbers.get(app) ?? numbers.get('*');
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });
}

/** Schema of one of a few words. */
export function oneOf<const W extends string>(...words: W[]): z.ZodType<W, string> {
  return z
    .string()
    .refine((text): text is W => words.some((word) => word === text), `must be one of ${words.join(', ')}`);
}

import { z } from 'zod';
import { Secret } from './secret.ts';

export interface VariableOptions {
  /** Text for an unset or empty variable; the schema reads it like any other text. */
  default?: string;
  /**
   * True if the variable may be unset, and then reads as undefined. Without this and a default the variable
   * is required.
   */
  optional?: true;
  /** True if the value is wrapped in a {@link Secret}. */
  secret?: true;
  /** True if messages do not show the value: it may contain a password by mistake. */
  hidden?: true;
}

/** One environment variable: its name, its meaning, and how its text is read. */
export interface Variable<T> {
  readonly env: string;
  /** The purpose of the variable, with its unit; a line of `docs/configuration.md`. */
  readonly meaning: string;
  readonly default: string | undefined;
  readonly required: boolean;
  readonly secret: boolean;
  /**
   * Reads the text of the environment; empty text counts as unset, as compose files and manifests write it.
   */
  read(text: string | undefined): { value: T } | { problem: string };
}

/** The type of the value that {@link variable} reads with its options. */
export type VariableValue<T, O extends VariableOptions> =
  | (O extends { secret: true } ? Secret : T)
  | (O extends { optional: true } ? undefined : never);

/** Declares one environment variable. The schema reads its text; the schema of a secret must return text. */
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
      const input = text || options.default;
      // The casts below state what VariableValue says: TypeScript does not narrow a conditional type by its
      // condition.
      if (input === undefined) {
        return options.optional
          ? { value: undefined as VariableValue<T, O> }
          : { problem: 'is required and not set' };
      }
      const result = schema.safeParse(input);
      if (!result.success) {
        const problemText = result.error.issues.map(({ message }) => message).join(', ');
        return {
          problem: secret || options.hidden ? problemText : `${problemText}; it is ${JSON.stringify(input)}`,
        };
      }
      const value = secret ? new Secret(String(result.data)) : result.data;
      return { value: value as VariableValue<T, O> };
    },
  };
}

/** Returns the schema of a whole number between two bounds, written in decimal digits. */
export function integer(min: number, max: number): z.ZodType<number, string> {
  const message = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,15}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message);
}

/**
 * Returns the schema of a whole number for each app: `30` for all apps, or `shop=30,*=365`, where `*` stands
 * for all other apps. Its value is a function of the app, which returns undefined for an app without a
 * number.
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

/** Returns the schema of one of a few words. */
export function oneOf<const W extends string>(...words: W[]): z.ZodType<W, string> {
  return z
    .string()
    .refine((text): text is W => words.some((word) => word === text), `must be one of ${words.join(', ')}`);
}

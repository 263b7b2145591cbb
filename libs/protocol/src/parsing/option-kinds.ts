/** Says what is wrong with the value of an option; undefined for a value that fits. */
export type OptionKind = (value: unknown) => string | undefined;

/** Makes a kind of options from words for its values, and a test. */
export function kindOf(words: string, fits: (value: unknown) => boolean): OptionKind {
  return (value) => (fits(value) ? undefined : `must be ${words}, not ${shown(value)}`);
}

export const textKind = kindOf('a text', (value) => typeof value === 'string');
export const flagKind = kindOf('true or false', (value) => typeof value === 'boolean');
export const functionKind = kindOf('a function', (value) => typeof value === 'function');
export const objectKind = kindOf('an object', (value) => typeof value === 'object' && !Array.isArray(value));
export const timeKind = kindOf('a time in ms above 0', (value) => typeof value === 'number' && value > 0);

/** Returns the kind of options with one of some texts. */
export function oneOf(...texts: readonly string[]): OptionKind {
  return kindOf(texts.map((text) => JSON.stringify(text)).join(' or '), (value) =>
    texts.includes(value as string),
  );
}

/** Returns the kind of options whose value is a list; the first item that does not fit is named by its place. */
export function listOf(kind: OptionKind): OptionKind {
  const isList = kindOf('a list', Array.isArray);
  return (value) => {
    if (!Array.isArray(value)) return isList(value);
    const problems = value.map(kind);
    const at = problems.findIndex((problem) => problem !== undefined);
    return at === -1 ? undefined : `[${at}] ${problems[at]}`;
  };
}

/** Returns the kind of options with one value, or a list of them. */
export function oneOrMore(kind: OptionKind): OptionKind {
  return (value) => (Array.isArray(value) ? listOf(kind)(value) : kind(value));
}

function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 60));
  if (typeof value === 'object' && value !== null)
    return `a value of ${value.constructor?.name ?? 'no class'}`;
  return typeof value === 'function' ? `the function ${value.name || 'without a name'}` : String(value);
}

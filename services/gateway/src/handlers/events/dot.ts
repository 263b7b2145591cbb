/** Writes attributes in Graphviz' language. */
export function attributes(values: Record<string, string>): string {
  return Object.entries(values)
    .map(([key, value]) => `${key}=${quote(value)}`)
    .join(', ');
}

/**
 * Returns a quoted string. Names of calls come from a model, so quotes and backslashes are escaped: a quote
 * would end the string, a backslash would begin one of Graphviz' escapes.
 */
export function quote(text: string): string {
  const plain = text.replace(/\p{Cc}/gu, ' ').replace(/[\\"]/g, (char) => `\\${char}`);
  return `"${plain}"`;
}

/**
 * Computes the distance of optimal string alignment: insertions, deletions, replacements and swaps of two
 * neighbours from one text to the other.
 */
function distance(from: string, to: string): number {
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const swapped = isSwap ? (before[j - 2] ?? 0) + 1 : replaced;
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, replaced, swapped));
    }
    [before, row] = [row, next];
  }
  return row[to.length] ?? 0;
}

/**
 * Returns the known name that is most similar to an unknown one; undefined when no known name shares half of
 * it.
 */
export function nearest(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = Math.ceil(name.length / 2);
  for (const candidate of known) {
    const d = distance(name, candidate);
    if (d < least) [best, least] = [candidate, d];
  }
  return best;
}

/** A memory that a search found, by its number. */
export interface Ranked {
  number: number;
  score: number;
}

/** Keeps the first places of one ranking from outweighing all other rankings. */
const damping = 60;

/**
 * Merges rankings whose scores cannot be compared, by reciprocal rank fusion (Cormack, Clarke and Büttcher
 * 2009). A memory that is in several rankings comes before a memory that is in a single ranking.
 */
export function fuse(rankings: readonly (readonly Ranked[])[]): Ranked[] {
  const scores = new Map<number, number>();
  for (const ranking of rankings) {
    for (const [rank, { number }] of ranking.entries())
      scores.set(number, (scores.get(number) ?? 0) + 1 / (damping + rank + 1));
  }
  return [...scores]
    .map(([number, score]) => ({ number, score }))
    .sort((a, b) => b.score - a.score || b.number - a.number);
}

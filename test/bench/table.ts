import type { Case } from './cases.ts';

/** The result of one round of one case. */
export interface Row {
  perSecond: number;
  /** The median time of one repetition, in ms. */
  p50: number;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/**
 * Makes a table of the medians over the rounds, their spread, and the ratio to the other case of the pair.
 */
export function table(figures: ReadonlyMap<Case, readonly Row[]>): string {
  const entries = [...figures];
  const lines = entries.map(([{ name, inFlight }, rows], index) => {
    const rates = rows.map(({ perSecond }) => perSecond);
    const rate = median(rates);
    // Cases come in pairs, which are compared with each other.
    const pair = entries[index % 2 === 0 ? index + 1 : index - 1]?.[1] ?? [];
    const ratio = rate / median(pair.map(({ perSecond }) => perSecond));
    const spread = `${Math.round(Math.min(...rates))}–${Math.round(Math.max(...rates))}`;
    const p50 = median(rows.map((row) => row.p50)).toFixed(2);
    return `| ${name} | ${inFlight} | ${Math.round(rate)} | ${spread} | ${p50} | ${ratio.toFixed(2)} × |`;
  });
  return [
    '| what | in flight | per second (median) | spread | p50 (ms) | rate against its pair |',
    '|---|---:|---:|---:|---:|---:|',
    ...lines,
  ].join('\n');
}

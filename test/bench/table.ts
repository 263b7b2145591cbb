import type { Case } from './cases.ts';

/** One round of one case. */
export interface Row {
  perSecond: number;
  /** Median time of one, in ms. */
  p50: number;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Medians over the rounds, their spread, and the ratio to the case that follows or precedes at the same width. */
export function table(figures: ReadonlyMap<Case, readonly Row[]>): string {
  const entries = [...figures];
  const lines = entries.map(([{ name, inFlight }, rows], index) => {
    const rates = rows.map(({ perSecond }) => perSecond);
    const rate = median(rates);
    // Cases come in pairs: the second is set against the first.
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
